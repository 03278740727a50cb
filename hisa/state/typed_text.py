"""Compares typed text with what its field holds, if the field tells.

A field may add to a text or write it in another form (capitals, typographic quotes, the signs of a
mask): that is no difference. If a field does not tell what it holds, nothing is known.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from hisa.actions import Action, Click, Hotkey, Move, Press, Sleep, Write
from hisa.protocols import GroundedCall
from hisa.screen.geometry import Point
from hisa.screen.hit_test import element_at, focused_element
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, MULTI_LINE, PASSWORD
from hisa.state.facts import name_element
from hisa.text.prompt_text import excerpt, field_text
from hisa.text.redact.named_secrets import PLACEHOLDER

__all__ = ["ReadBack", "read_back"]

_TELLING = FIELDS - {PASSWORD, "spin button", "date editor", "terminal"}
"""Roles whose text is what was typed into them; date and number fields reformat it."""
_EDITING = frozenset({"backspace", "delete", "end", "home"})
_REPORTED_CHARS = 200
"""Most characters of an element's text that a machine reports; HiSA's guest has the same limit."""
_SHOWN_CHARS = 80
"""Most characters of each of the two texts in a sentence."""


class ReadBack(NamedTuple):
    """The result of reading a typed text back, with a sentence on it."""

    verdict: Literal["arrived", "differs", "not known"]
    sentence: str = ""


class _TypedText(NamedTuple):
    """A typed text, the element that got it (as it was before), and whether it replaces the old."""

    text: str
    target: Element | None
    replaced: bool


_NOT_KNOWN = ReadBack("not known", "Not known: whether what was typed arrived.")


def read_back(call: GroundedCall, before: Observation, after: Observation) -> ReadBack | None:
    """Compare what a call typed with what its field holds.

    Returns None for a call that did more than type, or typed nothing.

    Args:
        call: what was done.
        before: the look before it.
        after: the look after it.
    """
    acts = [act for act in call.actions if not isinstance(act, Sleep | Move)]
    changed_again = any(
        isinstance(act, Write) and not isinstance(following, Click | Write)
        for act, following in pairwise(acts)
    )
    only_types = all(isinstance(act, Click) or _is_editing(act) for act in acts)
    if not only_types or not acts or not isinstance(acts[-1], Write):
        return None
    *earlier, last = (_compare(typed, before, after) for typed in _collect_typed(acts, before))
    if changed_again or last.verdict == "differs":
        return _NOT_KNOWN if changed_again else last
    return last if all(other.verdict == "arrived" for other in earlier) else _NOT_KNOWN


def _collect_typed(acts: Sequence[Action], before: Observation) -> list[_TypedText]:
    """Returns the typed texts in order."""
    texts: list[_TypedText] = []
    target, replaced = focused_element(before), False
    for index, act in enumerate(acts):
        if isinstance(act, Click):
            target = element_at(act.at, before) if isinstance(act.at, Point) else None
            replaced = False
        elif isinstance(act, Hotkey):
            replaced = True
        elif isinstance(act, Write):
            joined = index and isinstance(acts[index - 1], Write)
            start = texts.pop().text if joined else ""
            texts.append(_TypedText(start + act.text, target, replaced))
    return texts


def _is_editing(act: Action) -> bool:
    """Whether an action only edits the text of a field."""
    if isinstance(act, Hotkey):
        return {key.lower() for key in act.keys} == {"ctrl", "a"}
    return isinstance(act, Write) or (isinstance(act, Press) and act.key.lower() in _EDITING)


def _compare(act: _TypedText, before: Observation, after: Observation) -> ReadBack:
    typed, target = act.text, act.target
    elements, field = after.all_elements, focused_element(after)
    if elements is None or PLACEHOLDER.search(typed) or "\t" in typed or not _plain(typed):
        return _NOT_KNOWN
    if PASSWORD in {element.role for element in (target, field) if element is not None}:
        return _NOT_KNOWN
    for element in elements:
        if target is not None and _is_at_place(element, target):
            if _came_into(element.text, "" if act.replaced else target.text, typed):
                return ReadBack("arrived")
            if element is field and element.text != target.text and _plain(element.text):
                return _compare_with_focus(typed, element)
    shown = {_plain(e.text or e.name) for e in before.elements or ()}
    others = {_plain(text) for e in elements for text in (e.text, e.name)} - shown
    if any(_came_into(text, "", typed) for text in others):
        return ReadBack("arrived")
    # Some editors take keys in a multi-line field that stays empty, and draw the text beside it.
    silent = target is None or target.text or not _is_at_place(field or target, target)
    if field is None or silent or MULTI_LINE & field.states:
        return _NOT_KNOWN
    return _compare_with_focus(typed, field)


def _compare_with_focus(typed: str, field: Element) -> ReadBack:
    """Report that the field with the focus does not hold a typed text, if its text is reliable."""
    chosen = field.role == "combo box" and "editable" not in field.states
    cut = len(field.text) >= _REPORTED_CHARS or "\n" in typed
    if field.role not in _TELLING or chosen or cut or PLACEHOLDER.search(field.text):
        return _NOT_KNOWN
    reads, expected = (field_text(excerpt(text, _SHOWN_CHARS)) for text in (field.text, typed))
    now = f"reads “{reads}”" if reads else "is empty"
    return ReadBack("differs", f"The {name_element(field)} {now}, and “{expected}” was typed.")


def _is_at_place(first: Element, second: Element) -> bool:
    places = [(round(e.box.left), round(e.box.top), e.role) for e in (first, second)]
    return places[0] == places[1]


def _came_into(text: str, old: str, typed: str) -> bool:
    """Whether a text holds what was typed and did not before, if need be in a mask's format."""
    now, was, new = _plain(text), _plain(old), _plain(typed)
    completed = now != was and now.startswith(new)  # over a text that was selected
    if now == new or completed or now.count(new) > was.count(new):
        return True
    bare, now, was = ("".join(filter(str.isalnum, text)) for text in (new, now, was))
    masked = bare and (bare == new or not any(map(str.isalpha, bare)))
    return bool(masked) and now.count(bare) > was.count(bare)


def _plain(text: str) -> str:
    """Returns a text in lower case, without blanks, with one sign for all quotes and all dashes."""
    letters = []
    for letter in unicodedata.normalize("NFKC", text).casefold():
        kind = unicodedata.category(letter)
        if kind in ("Pi", "Pf") or letter in "\"'`":
            letters.append('"')
        elif kind == "Pd":
            letters.append("-")
        elif kind[0] not in "ZC" and letter != "\ufffc":  # the placeholder of an object
            letters.append(letter)
    return "".join(letters)
