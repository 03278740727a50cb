"""A numbered thing of the screen, as a planner is told of it in words."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.screen.geometry import BoundingBox

__all__ = ["Mark"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One entry of a list of the screen; the first entry has the number 1.

    ``kind`` is a plain word for the role, ``line`` the entry without its number, made safe.
    """

    line: str
    kind: str
    name: str
    value: str
    box: BoundingBox
    """In image space."""
    is_text: bool = False
    """Whether it is only there to be read."""
    takes_text: bool = False
    """Whether it can be typed into."""
    is_line: bool = False
    """Whether it is a field of one line, whose text is replaced as a whole."""
    is_filled: bool = False
    """Whether something stands in it."""
    is_off: bool = False
    """Whether it is a tick that is not set."""
    is_on: bool = False
    """Whether it is a tick that is set, or what is selected of several."""
    repeats_task: bool = False
    """Whether it shows the task's own words."""
