"""Words that tell a control from others of its role and name: the row that it is in, its order."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.plugins.synthesis.doing import called
from hisa.screen.observation import Element
from hisa.text.prompt_text import one_line

__all__ = ["told_apart"]

_SAYS = frozenset({"label", "static", "heading", "table cell", "link", "paragraph", "text"})
"""Roles whose text names the row that it stands in."""
_LONGEST = 60  # characters of a text that is repeated


def told_apart(element: Element, same: Sequence[Element], look: Sequence[Element]) -> str:
    """The words that follow a control's name; empty where it is the only one of that name.

    The text of its row that none of the others shares, else its order. ``same`` are all of its role
    and name on the look, itself among them.
    """
    others = [control for control in same if control is not element]
    if not others:
        return ""
    for row in _row(element, look):
        if all(row not in _row(control, look) for control in others):
            return f' in the row "{row}"'
    ordered = sorted(same, key=lambda control: (control.box.top, control.box.left))
    at = next(number for number, control in enumerate(ordered, 1) if control is element)
    return f", number {at} of {len(ordered)} from the top"


def _row(element: Element, look: Sequence[Element]) -> list[str]:
    """The texts that stand left of an element at its height, in the same window, from the left."""
    at = element.box
    beside = [
        control
        for control in look
        if control.role in _SAYS
        and "showing" in control.states
        and control.window == element.window
        if control.box.right <= at.left and control.box.top <= at.centre.y <= control.box.bottom
    ]
    beside.sort(key=lambda control: control.box.left)
    texts = [_quoted(called(control) or control.text) for control in beside]
    return [text for text in texts if any(letter.isalnum() for letter in text)]


def _quoted(text: str) -> str:
    words = one_line(text).replace('"', "'").rstrip(" .…:")
    return words[:_LONGEST]
