"""Getters for dates that depend on today: "next Monday", "10th next month"."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator

from hisa.environments.clean_commands import bash
from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.metric import Unreadable
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.tasks.pieces import GETTERS, Parameters

__all__ = ["DiffRange", "RelativeRule", "day_of", "format_day"]

_MONDAY, _FRIDAY, _SATURDAY, _SUNDAY = 0, 4, 5, 6


def _next(weekday: int) -> Callable[[date], date]:
    """Returns a function that gives the first such day after today."""
    return lambda today: today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def _this_week(weekday: int, weeks: int = 0) -> Callable[[date], date]:
    """Returns a function that gives a day of today's week, from Monday on, or of a later week."""
    return lambda today: today + timedelta(days=weekday - today.weekday() + 7 * weeks)


def _months_later(today: date, months: int) -> date:
    """Returns the first day of the month that is so many months later."""
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return date(year, month + 1, 1)


def _of_next_month(number: int) -> Callable[[date], date]:
    return lambda today: _months_later(today, 1).replace(day=number)


def _first_monday(months: int) -> Callable[[date], date]:
    def find_monday(today: date) -> date:
        first = _months_later(today, months)
        return first + timedelta(days=-first.weekday() % 7)

    return find_monday


_DAYS: Mapping[str, Callable[[date], date]] = {
    "tomorrow": lambda today: today + timedelta(days=1),
    "5th next month": _of_next_month(5),
    "10th next month": _of_next_month(10),
    "11th next month": _of_next_month(11),
    "this month": lambda today: today,
    "this Saturday": _this_week(_SATURDAY),
    "this Sunday": _this_week(_SUNDAY),
    "next Monday": _next(_MONDAY),
    "next Monday split": _next(_MONDAY),
    "next Friday": _next(_FRIDAY),
    "next Friday split": _next(_FRIDAY),
    "next Saturday": _next(_SATURDAY),
    "next Sunday": _next(_SUNDAY),
    "next week Friday": _this_week(_FRIDAY, 1),
    "next week Saturday": _this_week(_SATURDAY, 1),
    "next week Sunday": _this_week(_SUNDAY, 1),
    "first monday four months later": _first_monday(4),
    "first monday eight months later": _first_monday(8),
}
"""The words for a day that task files use, and the day they mean."""
_AFTER: Mapping[str, int] = {"next Friday": _FRIDAY, "next Sunday": _SUNDAY}
"""Words for the end of a span that mean a day of the week in which the span begins."""
_KEYS = {
    "next Monday split": ("puDay", "puMonth", "puYear"),
    "next Friday split": ("doDay", "doMonth", "doYear"),
}
"""Keys of the expected value, if day, month and year are separate."""


def day_of(words: str, today: date, begins: tuple[str, date] | None = None) -> date:
    """Returns the day that words mean.

    Args:
        words: such as "next Monday".
        today: the day on the machine.
        begins: words and day of the beginning of a span, if ``words`` are for its end.
    """
    ends = _AFTER.get(words.removesuffix(" split"))
    if begins is not None and ends is not None:
        first, day = begins[0].removesuffix(" split"), begins[1]
        if first in ("next Monday", "next Friday", "next Saturday") and day.weekday() < ends:
            return _this_week(ends)(day)
    return _DAYS[words](today)


def format_day(form: str, day: date) -> str:
    """Returns the day in a form such as ``{DoW}, {Month} {Day0D}, {Year}``; each name once."""
    month = calendar.month_name[day.month]
    for name, value in (
        ("DoW", calendar.day_abbr[day.weekday()]),
        ("Month", month[:3]),
        ("DayD", str(day.day)),
        ("Year", str(day.year)),
        ("Month0D", f"{day.month:02d}"),
        ("month", month.lower()),
        ("MonthFull", month),
        ("Day0D", f"{day.day:02d}"),
        ("MonthD", str(day.month)),
    ):
        form = form.replace(f"{{{name}}}", value, 1)
    return form


def _require_known(words: str) -> str:
    if words not in _DAYS:
        raise ValueError(f"{words!r} is not a known day; known are {', '.join(_DAYS)}")
    return words


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise ValueError(f"{name!r} is not a time zone such as 'Europe/Zurich'") from error
    return name


_Day = Annotated[str, AfterValidator(_require_known)]


class _Span(Parameters):
    begins: Annotated[_Day, Field(alias="from")]
    ends: Annotated[_Day | None, Field(alias="to")] = None

    def keys(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the keys of the first day's forms, and of the last day's."""
        if self.ends is None:
            return ("time",), ()
        return _KEYS.get(self.begins, ("from",)), _KEYS.get(self.ends, ("to",))


class _Rules(Parameters):
    span: Annotated[_Span, Field(alias="relativeTime")]
    expected: dict[str, Any]
    zone: Annotated[Annotated[str, AfterValidator(_zone)] | None, Field(alias="timezone")] = None

    @model_validator(mode="after")
    def _has_forms(self) -> Self:
        first, last = self.span.keys()
        for key in (*first, *last):
            form = self.expected.get(key)
            if not all(
                isinstance(item, str) for item in (form if isinstance(form, list) else [form])
            ):
                raise ValueError(f"expected: {key!r} must be the form of a date, or a list of such")
        return self


class RelativeRule(Parameters):
    """The expected value with forms of dates in it, and the days that these stand for."""

    rules: dict[str, Any]
    parsed: _Rules

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        rules = value.get("rules") if isinstance(value, Mapping) else None
        return {"rules": rules, "parsed": rules}


@GETTERS("rule_relativeTime", RelativeRule)
async def rule_relative_time(context: StepContext, params: RelativeRule) -> dict[str, Any]:
    """Returns the rule with its dates filled in, by the machine's own clock and zone.

    That is the only clock that the agent sees, and pages compute "tomorrow" from it.
    """
    rules = params.parsed
    today = await _today(context, rules.zone)
    first = day_of(rules.span.begins, today)
    filled = dict(rules.expected)
    keys, last_keys = rules.span.keys()
    days = [(key, first) for key in keys]
    if rules.span.ends is not None:
        last = day_of(rules.span.ends, today, (rules.span.begins, first))
        days += [(key, last) for key in last_keys]
    for key, day in days:
        form = filled[key]
        many = isinstance(form, list)
        filled[key] = [format_day(item, day) for item in form] if many else format_day(form, day)
    return {**params.rules, "expected": filled}


async def _today(context: StepContext, zone: str | None) -> date:
    result = await context.environment.execute(bash("date '+%s %Y-%m-%d'"))
    try:
        seconds, _, day = result.output.strip().partition(" ")
        if zone is None:
            return date.fromisoformat(day)
        return datetime.fromtimestamp(int(seconds), ZoneInfo(zone)).date()
    except (ValueError, OverflowError, OSError) as error:
        raise EnvironmentFailed(
            f"{context.environment.name} does not tell the date: {result.output[:100]!r}"
        ) from error


class DiffRange(Parameters):
    """Minutes by which two times may differ."""

    minutes: Annotated[str | int | float | None, Field(alias="diff_range_in_minutes")] = None


@GETTERS("time_diff_range", DiffRange)
async def time_diff_range(context: StepContext, params: DiffRange) -> str | int | float:
    """Returns the minutes as the task file has them."""
    if params.minutes is None:
        raise Unreadable("time_diff_range: the task file names no diff_range_in_minutes")
    return params.minutes
