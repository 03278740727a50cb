"""Draws a few of a table's cases for the normal suite; ``HISA_RED_TEAM=all`` takes all of them."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["drawn"]

_Case = TypeVar("_Case")
_ASKED = os.environ.get("HISA_RED_TEAM", "")


def drawn(cases: Sequence[_Case], count: int = 10) -> list[_Case]:
    """So many cases, by the seed that HISA_RED_TEAM names; the same ones where it names none."""
    if _ASKED == "all" or len(cases) <= count:
        return list(cases)
    chooser = random.Random(int(_ASKED) if _ASKED.isdecimal() else 0)
    return chooser.sample(list(cases), count)
