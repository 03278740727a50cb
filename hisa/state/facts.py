"""Facts about a step that two looks and the files prove, whatever a model sees in the pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hisa.actions import Click, Drag, Hotkey, Press, Write, points
from hisa.protocols import GroundedCall
from hisa.screen.hit_test import element_at
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import PASSWORD
from hisa.state.written_files import WrittenPaths
from hisa.text.prompt_text import excerpt, field_text

__all__ = [
    "DIALOGS",
    "disabled_facts",
    "field_facts",
    "held_facts",
    "is_complete",
    "is_inside",
    "is_same",
    "letters",
    "name_element",
    "quote_text",
    "smallest_focused",
    "written_facts",
]

DIALOGS = frozenset({"alert", "dialog", "file chooser"})
"""Roles of what asks or tells something above the rest of the screen."""
_NAMED_FILES = 3
"""A step's line has some 100 tokens for its result; three paths take half of them."""


def is_complete(observation: Observation) -> bool:
    """Whether the look's elements can be relied on: a partial list proves nothing missing."""
    return observation.all_elements is not None


def field_facts(call: GroundedCall, before: Observation, after: Observation) -> tuple[bool, str]:
    """Returns whether the field with the focus changed, and a sentence on what it is and holds.

    Args:
        call: what was done; text that it typed must be in the field.
        before: the look before it. Without all elements here, the field counts as unchanged.
        after: the look after it. Without all elements here, the sentence is empty.
    """
    old = smallest_focused(before.all_elements or ())
    new = smallest_focused(after.all_elements or ())
    if new is None:
        return False, ""
    name = field_text(excerpt(new.name or new.label, 40)).replace('"', "'")
    sentence = f'The focus is on {new.role} "{name}"'
    if new.text and new.role != PASSWORD:
        sentence += f', which holds "{field_text(excerpt(new.text, 80))}"'
    return old is not None and _is_effect(call, old, new), f"{sentence}."


def held_facts(call: GroundedCall, before: Observation, after: Observation) -> str:
    """Returns which keys were held down while a step acted, and which it left held down.

    Args:
        call: what was done; a call that neither clicks nor types held nothing down meanwhile.
        before: the look before it, with the keys that were held down then.
        after: the look after it, with the keys that are held down now.
    """
    acting = any(isinstance(act, Click | Drag | Hotkey | Press | Write) for act in call.actions)
    during = [*map(field_text, before.held)] if acting else []
    since = [field_text(name) for name in after.held if name not in before.held]
    sentences = [f"Done while held down: {', '.join(during)}."] if during else []
    return " ".join([*sentences, f"Still held down: {', '.join(since)}."] if since else sentences)


def written_facts(written: WrittenPaths) -> str:
    """Returns a sentence on the files written, or that none was; empty if that is not known."""
    names = [field_text(excerpt(path, 80)) for path in written.paths]
    if not names:
        return "No file in the home folder was written." if written.complete else ""
    if len(names) == 1:
        return f"The file {names[0]} was written."
    more = len(names) - _NAMED_FILES
    first, last = (names[:-1], names[-1]) if more <= 0 else (names[:_NAMED_FILES], f"{more} more")
    return f"The files {', '.join(first)} and {last} were written."


def _is_effect(call: GroundedCall, old: Element, new: Element) -> bool:
    """Whether the focused element changed, and the step did it.

    If the focus moved, the typed text must be in the element that has it now.
    """
    if _content(old) == _content(new):
        return False
    typed = "".join(action.text for action in call.actions if isinstance(action, Write)).strip()
    return (old.role, old.box) == (new.role, new.box) or typed in new.text


def _content(element: Element) -> tuple[object, ...]:
    box = element.box
    place = (round(box.left), round(box.top))
    return element.role, element.name, element.text, element.states, place


def smallest_focused(elements: Iterable[Element]) -> Element | None:
    """Returns the smallest element with the focus: frames claim it for what they contain."""
    candidates = [element for element in elements if "focused" in element.states]
    return min(candidates, key=lambda element: element.box.area, default=None)


def is_inside(element: Element, dialog: Element) -> bool:
    """Whether an element is a part of a dialog, which may itself be a part of a window."""
    same = element.window == (dialog.window or dialog.name)
    return same and dialog.box.contains(element.box.centre)


def disabled_facts(call: GroundedCall, observation: Observation) -> str:
    """Returns a sentence on the disabled element that was clicked; empty if none is known."""
    clicks = [action for action in call.actions if isinstance(action, Click)]
    if not any("enabled" in element.states for element in observation.elements or ()):
        return ""
    for point in points(clicks):
        element = element_at(point, observation)
        named = element is not None and (element.name or element.label)
        if element is not None and named and not element.states & {"enabled", "sensitive"}:
            name = field_text(excerpt(named, 40))
            return f"{element.role.capitalize()} “{name}” is disabled: the click did nothing."
    return ""


def letters(text: str) -> str:
    """Returns the letters of a text.

    Programs mark what is not saved by signs; figures change by themselves, such as a clock or a
    count of messages.
    """
    return re.sub(r"[\W\d]", "", text)


def quote_text(text: str) -> str:
    """Returns the beginning of a text in quotes, as a planner reads it."""
    return f"“{field_text(excerpt(text, 60))}”"


def is_same(first: Element, second: Element) -> bool:
    """Whether two elements of two looks are the same thing, wherever it lies."""
    return (first.role, first.name, first.label) == (second.role, second.name, second.label)


def name_element(element: Element) -> str:
    """Returns the role and name of an element, as a planner reads them."""
    name = element.name or element.label or element.description
    return f"{field_text(element.role)} {quote_text(name)}" if name else field_text(element.role)
