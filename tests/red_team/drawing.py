"""Draws a few of a table's cases for the normal suite; ``HISA_RED_TEAM=all`` takes all of them."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["draw_cases"]

_Case = TypeVar("_Case")
_SELECTION = os.environ.get("HISA_RED_TEAM", "")


def draw_cases(cases: Sequence[_Case], count: int = 10) -> list[_Case]:
    """So many cases, by the seed that HISA_RED_TEAM names; the same ones where it names none."""
    if _SELECTION == "all" or len(cases) <= count:
        return list(cases)
    chooser = random.Random(int(_SELECTION) if _SELECTION.isdecimal() else 0)
    return chooser.sample(list(cases), count)
