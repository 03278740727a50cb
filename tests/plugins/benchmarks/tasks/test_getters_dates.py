"""Expected dates: each word on each day of the week, forms, zones, and what has no meaning."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.getters.relative_time import day_of
from hisa.protocols import CommandResult
from tests.plugins.benchmarks.tasks.machine import Machine, context

MONDAY = date(2026, 3, 2)
SECONDS = 1772409600
"""The beginning of that Monday in Greenwich."""


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("tomorrow", [1, 1, 1, 1, 1, 1, 1]),
        ("this month", [0, 0, 0, 0, 0, 0, 0]),
        ("next Monday", [7, 6, 5, 4, 3, 2, 1]),
        ("next Friday", [4, 3, 2, 1, 7, 6, 5]),
        ("next Saturday", [5, 4, 3, 2, 1, 7, 6]),
        ("next Sunday", [6, 5, 4, 3, 2, 1, 7]),
        ("this Saturday", [5, 4, 3, 2, 1, 0, -1]),
        ("this Sunday", [6, 5, 4, 3, 2, 1, 0]),
        ("next week Friday", [11, 10, 9, 8, 7, 6, 5]),
        ("next week Saturday", [12, 11, 10, 9, 8, 7, 6]),
        ("next week Sunday", [13, 12, 11, 10, 9, 8, 7]),
    ],
)
def test_words_for_days_on_each_day_of_a_week(words: str, days: list[int]) -> None:
    week = [MONDAY + timedelta(days=n) for n in range(7)]
    assert [(day_of(words, today) - today).days for today in week] == days


@pytest.mark.parametrize(
    ("begins", "ends", "days"),
    [
        ("next Monday", "next Friday", [(7, 11), (6, 10), (5, 9), (4, 8), (3, 7), (2, 6), (1, 5)]),
        ("next Friday", "next Sunday", [(4, 6), (3, 5), (2, 4), (1, 3), (7, 9), (6, 8), (5, 7)]),
        ("next Saturday", "next Sunday", [(5, 6), (4, 5), (3, 4), (2, 3), (1, 2), (7, 8), (6, 7)]),
        ("tomorrow", "next Friday", [(1, 4), (1, 3), (1, 2), (1, 1), (1, 7), (1, 6), (1, 5)]),
    ],
)
def test_a_span_ends_in_the_week_that_it_begins_in(
    begins: str, ends: str, days: list[tuple[int, int]]
) -> None:
    for number, (first, last) in enumerate(days):
        today = MONDAY + timedelta(days=number)
        start = day_of(begins, today)
        end = day_of(ends, today, (begins, start))
        assert ((start - today).days, (end - today).days) == (first, last)


async def run_rule(folder: Path, clock_output: str, **rules: Any) -> Any:
    known = GETTERS.get("rule_relativeTime")
    assert known is not None
    machine = Machine({"date ": CommandResult(0, clock_output)})
    where = context(folder, machine, "score")
    return await known.run(where, known.model.model_validate({"rules": rules}))


async def test_the_dates_of_the_machine_s_own_clock(tmp_path: Path) -> None:
    clock_output = f"{SECONDS} 2026-03-02\n"
    rule: dict[str, Any] = {"relativeTime": {"from": "next Monday"}, "expect_in_result": True}
    forms = {"time": ["{Month0D}/{DayD}", "{DayD} {month}"], "start": "SEA"}
    assert await run_rule(tmp_path, clock_output, **rule, expected=forms) == {
        **rule,
        "expected": {"time": ["03/9", "9 march"], "start": "SEA"},
    }
    split = {"from": "next Monday split", "to": "next Friday split"}
    parts = {
        "puDay": "{DayD}",
        "puMonth": "{MonthD}",
        "puYear": "{Year}",
        "doDay": "{DayD}",
        "doMonth": "{MonthD}",
        "doYear": "{Year}",
    }
    result = await run_rule(tmp_path, clock_output, relativeTime=split, expected=parts)
    assert list(result["expected"].values()) == ["9", "3", "2026", "13", "3", "2026"]


async def test_a_zone_of_the_task_counts_before_the_machine_s(tmp_path: Path) -> None:
    rule: dict[str, Any] = {"relativeTime": {"from": "tomorrow"}, "expected": {"time": "{DayD}"}}
    clock_output = f"{SECONDS} 2026-03-02"
    for zone, day in (("America/New_York", "2"), ("Europe/Zurich", "3")):
        result = await run_rule(tmp_path, clock_output, **rule, timezone=zone)
        assert result["expected"] == {"time": day}
    with pytest.raises(EnvironmentFailed, match="does not tell the date: 'date: not found'"):
        await run_rule(tmp_path, "date: not found", **rule)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            {"relativeTime": {"from": "some day"}, "expected": {"time": ""}},
            "'some day' is not a known day",
        ),
        ({"relativeTime": {"from": "tomorrow"}, "expected": {}}, "'time' must be the form"),
        (
            {"relativeTime": {"from": "tomorrow", "to": "next Sunday"}, "expected": {"from": ""}},
            "'to' must be the form",
        ),
        (
            {"relativeTime": {"from": "tomorrow"}, "expected": {"time": ""}, "timezone": "../x"},
            "is not a time zone",
        ),
        (None, "valid dictionary"),
    ],
)
def test_rules_without_meaning_are_named_before_a_run(rules: Any, message: str) -> None:
    known = GETTERS.get("rule_relativeTime")
    assert known is not None
    with pytest.raises(ValidationError, match=message):
        known.model.model_validate({"type": "rule_relativeTime", "rules": rules})
