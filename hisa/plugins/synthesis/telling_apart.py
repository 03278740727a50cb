"""Words that tell a control from others of its role and name: its row, its group, its order."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.plugins.synthesis.doing import above, called
from hisa.screen.observation import Element
from hisa.text.prompt_text import one_line

__all__ = ["told_apart"]

_SAYS = frozenset({"label", "static", "heading", "table cell", "link", "paragraph", "text"})
"""Roles whose text names the row that it stands in."""
_LONGEST = 60  # characters of a text that is repeated


def told_apart(element: Element, same: Sequence[Element], look: Sequence[Element]) -> str:
    """The words that follow a control's name; empty where it is the only one of that name.

    The first of row, group and order that none of the others shares. ``same`` are all of its role
    and name on the look, itself among them.
    """
    others = [one for one in same if one is not element]
    if not others:
        return ""
    for row in _row(element, look):
        if all(row not in _row(one, look) for one in others):
            return f' in the row "{row}"'
    for group in _groups(element, look):
        if all(group not in _groups(one, look) for one in others):
            return f' in the group "{group}"'
    ordered = sorted(same, key=lambda one: (one.box.top, one.box.left))
    at = next(number for number, one in enumerate(ordered, 1) if one is element)
    return f", number {at} of {len(ordered)} from the top"


def _row(element: Element, look: Sequence[Element]) -> list[str]:
    """The texts that stand left of an element at its height, in the same window, from the left."""
    at = element.box
    beside = [
        one
        for one in look
        if one.role in _SAYS and "showing" in one.states and one.window == element.window
        if one.box.right <= at.left and one.box.top <= at.centre.y <= one.box.bottom
    ]
    beside.sort(key=lambda one: one.box.left)
    texts = [_said(called(one) or one.text) for one in beside]
    return [text for text in texts if any(letter.isalnum() for letter in text)]


def _groups(element: Element, look: Sequence[Element]) -> list[str]:
    """The names of what holds an element, innermost first, windows left out."""
    holding = [one for one in above(element, look) if one.parent != -1]
    return [_said(one.name or one.label) for one in holding if one.name or one.label]


def _said(text: str) -> str:
    words = one_line(text).replace('"', "'").rstrip(" .…:")
    return words[:_LONGEST]
