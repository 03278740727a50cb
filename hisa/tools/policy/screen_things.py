"""What a thing on the screen would do if it were pressed, by its role, its words and its dialog."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hisa.actions.effects import Effect
from hisa.screen.lies_at import lies_in
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CONTAINERS, FIELDS, LAYOUT
from hisa.text.prompt_text import excerpt, field_text
from hisa.tools.policy import effect_words as said

__all__ = [
    "NOTHING",
    "Judged",
    "called",
    "dialog_of",
    "is_in_page",
    "is_pressed",
    "judged",
    "judged_words",
]
__all__ += ["pressed_by_enter"]

_BUTTONS = re.compile(r".*(button|menu item|link|check box|switch).*")
_TICKS = re.compile(r".*(check|radio|switch).*")
_PICTURES = re.compile(r"(canvas|drawing area|image|icon|animation|embedded|unknown|svg root|)")
_PLAIN = FIELDS | {"page tab", "heading", "document web", "column header", "row header", "menu"}
"""Roles whose words are a value or a title: they say nothing of what a click does."""
_DIALOGS = frozenset({"alert", "dialog"})
_TEXTS = frozenset({"alert", "heading", "label", "paragraph", "static", "text"})
_NEAR = 3
"""Texts before a button that say what it is about, where no dialog holds it; chosen by hand."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What pressing a thing would do; with ``unknown`` it could be anything.

    ``about`` is what says so: the thing's words, or those that it says yes to.
    """

    effects: frozenset[Effect] = frozenset()
    unknown: str = ""
    about: str = ""


NOTHING = Judged()


def is_pressed(thing: Element) -> bool:
    """Whether Enter or Space sets a thing off while it has the focus, and a click does."""
    return thing.role not in FIELDS and _BUTTONS.fullmatch(thing.role) is not None


def called(thing: Element) -> str:
    """A thing by its role and name."""
    name = thing.name or thing.label or thing.description
    name = name or (thing.text if thing.role not in FIELDS else "")
    role = field_text(thing.role) or "thing"
    return f"{role} “{field_text(excerpt(name, 60))}”" if name else role


def judged(thing: Element, look: Observation) -> Judged:
    """The effects of a click on a thing.

    Args:
        thing: one of the look's elements.
        look: with elements.
    """
    words = [text for text in (thing.name, thing.text, thing.label, thing.description) if text]
    if is_pressed(thing):
        if not words and _TICKS.fullmatch(thing.role):
            return NOTHING
        return judged_words(words, _asked(thing, look), what=called(thing))
    if _PICTURES.fullmatch(thing.role) and not words:
        return Judged(unknown=f"nothing is known of what the {called(thing)} does")
    if thing.role in _PLAIN or not is_in_page(thing, look):
        return NOTHING
    return Judged(_union(said.effects_said(text, label=True, first=True) for text in words))


def judged_words(words: Sequence[str], around: Iterable[str], *, what: str) -> Judged:
    """The effects of a button with these words.

    Args:
        words: its name and what else names it.
        around: the texts that a plain yes says yes to.
        what: the button, as people read it.
    """
    if not words:
        return Judged(unknown=f"{what} has no name")
    if all(said.is_dismissing(text) for text in words):
        return NOTHING
    effects = _union(said.effects_said(text, label=True) for text in words)
    about = words[0]
    if any(said.is_confirming(text) for text in words):
        for text in around:
            about = text if said.effects_said(text) else about
            effects |= said.effects_said(text)
    return Judged(effects, about=field_text(excerpt(about, 80)))


def _union(found: Iterable[frozenset[Effect]]) -> frozenset[Effect]:
    return frozenset().union(*found)


# ------------------------------------------------------------------ what is around a thing


def is_in_page(thing: Element, look: Observation) -> bool:
    """Whether a thing is a part of a page."""
    elements = look.elements or ()
    return any(elements[n].role == "document web" for n in _holders(thing, elements))


def dialog_of(thing: Element, look: Observation) -> Element | None:
    """The dialog that holds a thing; None where none does."""
    elements = look.elements or ()
    return next((elements[n] for n in _holders(thing, elements) if _is_dialog(elements[n])), None)


def pressed_by_enter(focus: Element, look: Observation) -> Sequence[Element]:
    """The buttons that Enter may press while something else has the focus."""
    elements = look.elements or ()
    dialog = dialog_of(focus, look)
    page = dialog is None and is_in_page(focus, look)
    if page and not (focus.role in FIELDS or is_pressed(focus)):
        return ()
    own = _place(focus, elements)
    buttons = [(n, e) for n, e in enumerate(elements) if e.role in ("push button", "button")]
    if dialog is not None:
        outer = _place(dialog, elements)
        buttons = [(n, e) for n, e in buttons if lies_in(n, outer, elements)]
    elif page:  # a form is sent by its first button; which is a form is not told
        buttons = [(n, e) for n, e in buttons if n > own and is_in_page(e, look)][:1]
        return [e for _, e in buttons]
    else:
        buttons = [(n, e) for n, e in buttons if e.window == focus.window]
    default = [e for _, e in buttons if "is-default" in e.states]
    return default or ([e for _, e in buttons] if dialog is not None else [])


def _asked(thing: Element, look: Observation) -> Iterator[str]:
    """The texts that a yes is about: those of the dialog, else those just before the button."""
    elements = look.elements or ()
    own = _place(thing, elements)
    holders = list(_holders(thing, elements))
    dialogs = [n for n in holders if _is_dialog(elements[n])]
    for holder in dialogs[:1] or holders:
        texts = [
            (n, e.text or e.name)
            for n, e in enumerate(elements)
            if e.role in _TEXTS and "editable" not in e.states and n != own
            if lies_in(n, holder, elements) and not lies_in(n, own, elements)
        ]
        if texts and dialogs:
            yield elements[holder].name
            yield from (text for _, text in texts)
        elif texts:
            before = [text for n, text in texts if n < own]
            yield from before[-2 * _NEAR :]  # a paragraph and the text in it
        if texts:
            return
    if not holders:
        before = [e.text or e.name for e in elements[:own] if e.role in _TEXTS]
        yield from before[-_NEAR:]


def _holders(thing: Element, elements: Sequence[Element]) -> Iterator[int]:
    """The numbers of what holds a thing, the innermost first."""
    own = _place(thing, elements)
    for number in range(own - 1, -1, -1):
        element = elements[number]
        holds = element.role in CONTAINERS | LAYOUT or element.role.startswith("document")
        if holds and lies_in(own, number, elements):
            yield number


def _place(thing: Element, elements: Sequence[Element]) -> int:
    return next((n for n, element in enumerate(elements) if element is thing), -1)


def _is_dialog(element: Element) -> bool:
    return element.role in _DIALOGS
