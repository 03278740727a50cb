"""What a thing on the screen would do if it were pressed, by its role, its words and its dialog."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy import effect_words as said
from hisa.screen.geometry import Point
from hisa.screen.lies_at import element_at, lies_in
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS
from hisa.text.prompt_text import excerpt, field_text

__all__ = ["NOTHING", "Judged", "called", "is_pressed", "is_reached", "judged"]
__all__ += ["judged_words", "pressed_by_enter", "thing_at"]

_BUTTONS = re.compile(r".*(button|menu item|link|check box|switch).*")
_TICKS = re.compile(r".*(check|radio|switch).*")
_PICTURES = re.compile(r"(canvas|drawing area|image|icon|animation|embedded|unknown|svg root|)")
_PLAIN = FIELDS | {"page tab", "heading", "document web", "column header", "row header", "menu"}
"""Roles whose words are a value or a title: they say nothing of what a click does."""
_TEXTS = frozenset({"alert", "heading", "label", "paragraph", "static", "text"})
_NEAR = 6
"""Texts before a button that say what it is about, where no dialog holds it; chosen by hand. In
trees of pages each stands twice: as the paragraph, and as the text in it."""


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
    """Whether a click sets a thing off, and Enter or Space while it has the focus."""
    return thing.role not in FIELDS and _BUTTONS.fullmatch(thing.role) is not None


def thing_at(point: Point, look: Observation) -> Element | None:
    """Returns what a click at a point meets.

    An empty part of a page is there to be clicked: Chromium (156) tells of no other one.
    """
    elements, found = look.elements or (), element_at(point, look)
    at = look.convert(point, "screen")
    for number in range(len(elements) - 1, -1, -1):
        each = elements[number]
        if each is found:
            break
        bare = each.role == "section" and not (each.name or each.text) and each.box.contains(at)
        holds = number + 1 < len(elements) and lies_in(number + 1, number, elements)
        if bare and not holds and (found is None or each.window == found.window):
            return each
    return found


def called(thing: Element) -> str:
    """A thing by its role and name."""
    name = thing.name or thing.label or thing.description
    name = name or (thing.text if thing.role not in FIELDS else "")
    role = field_text(thing.role) or "thing"
    return f"{role} “{field_text(excerpt(name, 60))}”" if name else role


def judged(thing: Element, look: Observation) -> Judged:
    """Returns what a click on one of a look's elements would do."""
    words = [text for text in (thing.name, thing.text, thing.label, thing.description) if text]
    if is_pressed(thing):
        switches = _TICKS.fullmatch(thing.role) or (
            thing.role == "toggle button" and _around(thing, look)[-1] is None
        )
        if not words and switches:  # the sidebar of LibreOffice has such without names
            return NOTHING
        return judged_words(words, _asked(thing, look), what=called(thing))
    if not words and (thing.role == "section" or _PICTURES.fullmatch(thing.role)):
        return Judged(unknown=f"nothing is known of what the {called(thing)} does")
    if thing.role in _PLAIN or _around(thing, look)[-1] is None:
        return NOTHING
    found = (said.effects_said(text, label=True, first=True) for text in words)
    return Judged(frozenset[Effect]().union(*found))


def judged_words(words: Sequence[str], around: Iterable[str], *, what: str) -> Judged:
    """Returns what a button of these words would do.

    Args:
        words: its name and what else names it.
        around: the texts that a plain yes says yes to.
        what: the button, as people read it.
    """
    if not words:
        return Judged(unknown=f"{what} has no name")
    if all(said.is_dismissing(text) for text in words):
        return NOTHING
    effects, about = set[Effect](), words[0]
    for text in words:
        effects |= said.effects_said(text, label=True)
    for text in around if any(said.is_confirming(text) for text in words) else ():
        about = text if said.effects_said(text) else about
        effects |= said.effects_said(text)
    return Judged(frozenset(effects), about=field_text(excerpt(about, 80)))


def is_reached(thing: Element, look: Observation) -> bool:
    """Whether Tab or a letter may reach a button: those of a program's tool bars have neither."""
    elements, _, holders, _, page = look.elements or (), *_around(thing, look)
    barred = any(elements[number].role == "tool bar" for number in holders)
    return page is not None or not barred


def pressed_by_enter(focus: Element, look: Observation) -> Sequence[Element]:
    """The buttons that Enter may press while something else has the focus.

    Which fields of a page are a form is not told: the first button after a field may send it.
    """
    elements, own, _, dialog, page = look.elements or (), *_around(focus, look)
    outer = page if dialog is None else dialog
    buttons = [
        number
        for number, each in enumerate(elements)
        if each.role in ("push button", "button") and each.window == focus.window
        if outer is None or lies_in(number, outer, elements)
    ]
    if dialog is None and page is not None:
        sends = focus.role in FIELDS
        return [elements[number] for number in buttons if sends and number > own][:1]
    default = [number for number in buttons if "is-default" in elements[number].states]
    return [elements[number] for number in default or (buttons if dialog is not None else ())]


def _asked(thing: Element, look: Observation) -> Iterator[str]:
    """The texts that a yes is about: those of the dialog, else those just before the button."""
    elements, own, holders, dialog, _ = look.elements or (), *_around(thing, look)
    texts = [
        number
        for number, each in enumerate(elements)
        if each.role in _TEXTS and "editable" not in each.states
        if not lies_in(number, own, elements)
    ]
    if dialog is not None:
        yield elements[dialog].name
    for holder in holders if dialog is None else [dialog]:
        inside = [number for number in texts if lies_in(number, holder, elements)]
        if dialog is None:
            inside = [number for number in inside if number < own][-_NEAR:]
        yield from (elements[number].text or elements[number].name for number in inside)
        if inside:
            return


def _around(thing: Element, look: Observation) -> tuple[int, list[int], int | None, int | None]:
    """Numbers: a thing's own, of what holds it, innermost first, of its dialog and of its page."""
    elements = look.elements or ()
    own = next(number for number, element in enumerate(elements) if element is thing)
    holders, at = list[int](), _parent(thing)
    while at >= 0:
        holders.append(at)
        at = _parent(elements[at])
    if thing.parent is None:
        holders = [n for n in range(own - 1, -1, -1) if lies_in(own, n, elements)]
    dialog = next((n for n in holders if elements[n].role in ("alert", "dialog")), None)
    return own, holders, dialog, next((n for n in holders if _is_page(elements[n])), None)


def _is_page(element: Element) -> bool:
    return element.role == "document web"


def _parent(element: Element) -> int:
    return -1 if element.parent is None else element.parent
