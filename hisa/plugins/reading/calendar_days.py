"""Days of a month in a calendar that is open: which month each number belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hisa.plugins.reading.scene_table import Floats, Ints, Table

__all__ = ["Day", "day_asked", "day_fit", "days_shown", "names_day_alone"]

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july",
    "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)}|{'|'.join(m[:3] for m in _MONTHS)}|sept)\b\.?")
_OF_DAY = re.compile(
    r"\b(?:(?:the|of|in|on|open|day|date|cell|month|calendar|first|last)|\d+(?:st|nd|rd|th)?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|[^\w\s]"
)
_NUMBER = re.compile(
    r"(?<![\d.:,/€$£-])(?:(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?)(?![\d%.:,/-]*\d|%|st\b)"
)
_TALKS_OF_DAYS = re.compile(
    r"\b(?:day|date|calendar|month|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)
_LAST = re.compile(r"\b(?:last|final) day\b")
_FIRST = re.compile(r"\bfirst day\b")
_LEAST = 20
"""Days that a calendar shows, at least."""
_APART = 1.3
"""Steps from column to column that part two months."""
_TITLE = 160
"""Pixels of the screen between the first days and the name of the month, at most."""
_BESIDE = 0.8
"""What a day has left that is shown with the month before or after its own; chosen by hand."""
_OTHER = 0.4
"""What a day of another month has left; chosen by hand."""


@dataclass(frozen=True)
class Day:
    """A day asked for: its number, -1 for the last; ``month`` counts from 1, 0 for any."""

    number: int
    month: int


@dataclass(frozen=True)
class _Sheet:
    """The days of a calendar in reading order; ``month`` counts from 1, 0 where it is not known."""

    rows: Ints
    numbers: Ints
    month: int

    def offsets(self) -> Ints:
        """The months that each day lies from the one shown: -1, 0 or 1."""
        starts = np.cumsum(self.numbers == 1)
        return np.asarray(starts - 1, dtype=int)


def day_asked(text: str) -> Day | None:
    """The day that lower-case words ask for; None where they speak of none."""
    month = _MONTH.search(text)
    if month is None and not _TALKS_OF_DAYS.search(text):
        return None
    number = -1 if _LAST.search(text) else 1 if _FIRST.search(text) else None
    if number is None:
        found = _NUMBER.search(text)
        if found is None:
            return None
        number = int(found["day"])
    return Day(number, _month(month[1]) if month else 0) if number else None


def names_day_alone(text: str) -> bool:
    """Whether lower-case words say nothing but a day: where several calendars are, more is said."""
    return not _OF_DAY.sub("", _MONTH.sub("", text)).strip()


def _month(word: str) -> int:
    return next(i for i, month in enumerate(_MONTHS, 1) if month.startswith(word[:3]))


def day_fit(table: Table, day: Day) -> Floats:
    """Rate each thing as the day asked for: 1 in its month, less in another one."""
    fit = np.zeros(len(table.things))
    for sheet in _sheets(table):
        numbers, offsets = sheet.numbers, sheet.offsets()
        number = day.number
        if number == -1:
            number = int(numbers[offsets == 0].max(initial=0))
        wanted = (day.month - sheet.month + 6) % 12 - 6 if day.month and sheet.month else 0
        same = numbers == number
        there = 1.0 if wanted == 0 else _BESIDE
        fit[sheet.rows[same]] = np.where(offsets[same] == wanted, there, _OTHER)
    return fit


def days_shown(table: Table, day: Day) -> tuple[Ints, Ints]:
    """The rows of all days of calendars, and of those that are certainly the one asked for.

    None is certain by its number alone where a month is asked for that no title shows.
    """
    sheets, fit = _sheets(table), day_fit(table, day)
    titled = [sheet.rows for sheet in sheets if sheet.month or not day.month]
    every = [sheet.rows for sheet in sheets]
    none = np.zeros(0, dtype=int)
    certain = np.concatenate([none, *titled])
    return np.concatenate([none, *every]), certain[fit[certain] == 1.0]


def _sheets(table: Table) -> list[_Sheet]:
    """The months on the screen, each a block of numbered days."""
    rows = [row for row, text in enumerate(map(_plain, table.texts)) if text]
    found = []
    for family in {int(table.family[row]) for row in rows}:
        alike = np.array([row for row in rows if table.family[row] == family], dtype=int)
        for block in _blocks(table, alike):
            sheet = _sheet(table, block)
            if sheet is not None:
                found.append(sheet)
    return found


def _plain(texts: tuple[str, ...]) -> int:
    """The number of a day that a thing shows, or 0."""
    return _day_of(texts[0]) if texts else 0


@lru_cache(maxsize=4096)
def _day_of(text: str) -> int:
    found = re.fullmatch(r"0?([1-9]|[12]\d|3[01])", text.strip())
    return int(found[1]) if found else 0


def _blocks(table: Table, rows: Ints) -> list[Ints]:
    """Things with no wide gap between their columns: months stand side by side."""
    if len(rows) < _LEAST:
        return []
    rows = rows[np.argsort(table.x[rows], kind="stable")]
    steps = np.diff(table.x[rows])
    columns = steps[steps > 4]
    if not len(columns):
        return []
    cuts = np.flatnonzero(steps > _APART * np.median(columns)) + 1
    return [block for block in np.split(rows, cuts) if len(block) >= _LEAST]


def _sheet(table: Table, block: Ints) -> _Sheet | None:
    height = float(np.median(table.height[block]))
    line = np.round((table.y[block] - table.y[block].min()) / max(height * 0.6, 4))
    order = np.lexsort((table.x[block], line))
    rows = block[order]
    _, first = np.unique(np.round(table.box[rows] / 4), axis=0, return_index=True)
    rows = rows[np.sort(first)]
    numbers = np.array([_plain(table.texts[row]) for row in rows], dtype=int)
    rising = np.mean(np.diff(numbers) == 1) if len(numbers) > 1 else 0.0
    if len(rows) < _LEAST or rising < 0.8 or not (numbers == 1).any():
        return None
    return _Sheet(rows, numbers, _title(table, rows))


def _title(table: Table, rows: Ints) -> int:
    """The month written above a block, or 0."""
    left, top = table.box[rows, 0].min(), table.box[rows, 1].min()
    right = table.box[rows, 2].max()
    above = (table.box[:, 3] <= top + 4) & (table.box[:, 1] > top - _TITLE)
    within = (table.x >= left) & (table.x <= right)
    near = np.flatnonzero(above & within)
    for row in near[np.argsort(-table.y[near], kind="stable")]:
        for text in table.texts[row]:
            if found := _MONTH.search(text.casefold()):
                return _month(found[1])
    return 0
