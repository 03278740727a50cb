"""Judges what pressing an element would do, by its role, its words and its dialog."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy import effect_words
from hisa.screen.geometry import Point
from hisa.screen.hit_test import element_at, is_part_of
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS
from hisa.screen.sight import GUESSED, SEEN, knows_places
from hisa.text.prompt_text import excerpt, field_text

__all__ = [
    "NOTHING",
    "PressJudgement",
    "describe_thing",
    "is_pressed",
    "is_reached",
    "judge_element",
    "list_words",
]
__all__ += ["find_pressed_by_enter", "judge_words", "thing_at"]

_BUTTONS = re.compile(r".*(button|menu item|link|check box|switch).*")
_TICKS = re.compile(r".*(check|radio|switch).*")
_PICTURES = re.compile(r"(canvas|drawing area|image|icon|animation|embedded|unknown|svg root|)")
_PLAIN = FIELDS | {"page tab", "heading", "document web", "column header", "row header", "menu"}
"""Roles whose words are a value or a title: they say nothing about what a click does."""
_BARE_SEEN = FIELDS | {"slider", "scroll bar"}
"""Roles that are seen by their shape and do no more than to take a value. Of 1,903 buttons, icons,
links, menu items and tabs of kept-out programs 7 were taken for one of them or for a check box."""
_TEXTS = frozenset({"alert", "heading", "label", "paragraph", "static", "text"})
_NEAR = 6
"""Texts before a button that say what it is about, if it is in no dialog; chosen by hand. The tree
of a page has each text twice: as the paragraph, and as the text in it."""


@dataclass(frozen=True, slots=True)
class PressJudgement:
    """The effects of pressing a thing; if ``unknown`` says why, there could be any.

    ``about`` is the text that says so: the thing's own, or the question that it says yes to.
    """

    effects: frozenset[Effect] = frozenset()
    unknown: str = ""
    about: str = ""


NOTHING = PressJudgement()


def is_pressed(thing: Element) -> bool:
    """Whether a click activates a thing, as Enter or Space does while it has the focus.

    The eyes confuse roles: what was seen may be a button.
    """
    button = SEEN in thing.states or _BUTTONS.fullmatch(thing.role) is not None
    return thing.role not in FIELDS and button


def thing_at(point: Point, observation: Observation) -> Element | None:
    """Returns the element that a click at a point would reach; None if that is not known.

    An empty section of a page counts: Chromium (156) lists one only if it can be clicked.
    """
    if not knows_places(observation):
        return None
    elements, hit = observation.elements or (), element_at(point, observation)
    at = observation.convert(point, "screen")
    for number in range(len(elements) - 1, -1, -1):
        element = elements[number]
        if element is hit:
            break
        bare = (
            element.role == "section"
            and not (element.name or element.text)
            and element.box.contains(at)
        )
        holds = number + 1 < len(elements) and is_part_of(number + 1, number, elements)
        if bare and not holds and (hit is None or element.window == hit.window):
            return element
    return hit


def describe_thing(thing: Element) -> str:
    """Returns the role and the name of a thing as text."""
    name = thing.name or thing.label or thing.description
    name = name or (thing.text if thing.role not in FIELDS else "")
    role = field_text(thing.role) or "thing"
    return f"{role} “{field_text(excerpt(name, 60))}”" if name else role


def judge_element(thing: Element, observation: Observation) -> PressJudgement:
    """Returns what a click on an element of a look would do."""
    words = list_words(thing)
    if SEEN in thing.states:
        return _judge_seen(thing, words, observation)
    if is_pressed(thing):
        switches = _TICKS.fullmatch(thing.role) or (
            thing.role == "toggle button" and _around(thing, observation)[-1] is None
        )
        if not words and switches:  # the sidebar of LibreOffice has some without names
            return NOTHING
        return judge_words(words, _question_texts(thing, observation), name=describe_thing(thing))
    if not words and (thing.role == "section" or _PICTURES.fullmatch(thing.role)):
        return PressJudgement(unknown=f"nothing is known of what the {describe_thing(thing)} does")
    if thing.role in _PLAIN or _around(thing, observation)[-1] is None:
        return NOTHING
    text_effects = (effect_words.read_effects(text, label=True, first=True) for text in words)
    return PressJudgement(frozenset[Effect]().union(*text_effects))


def _judge_seen(thing: Element, words: Sequence[str], observation: Observation) -> PressJudgement:
    """Judges a seen element as a button of its words, whatever its role is taken for.

    A yes answers all that is seen above and beside it: the edge of a dialog may be missing, and
    words of a text may have been taken for a button.
    """
    if not words and (thing.role in _BARE_SEEN or _TICKS.fullmatch(thing.role)):
        return NOTHING
    others = (e for e in observation.elements or () if e is not thing)
    texts = (e.text or e.name for e in others if e.box.top < thing.box.bottom)
    return judge_words(words, texts, name=describe_thing(thing))


def judge_words(words: Sequence[str], around: Iterable[str], *, name: str) -> PressJudgement:
    """Returns what a button with these words would do.

    Args:
        words: its name and other texts that name it.
        around: the texts of the question that a plain "Yes" or "OK" answers.
        name: the button's role and name, for the message that nothing is known of it.
    """
    if not words:
        return PressJudgement(unknown=f"{name} has no name")
    if all(effect_words.is_dismissing(text) for text in words):
        return NOTHING
    effects, about = set[Effect](), words[0]
    for text in words:
        effects |= effect_words.read_effects(text, label=True)
    for text in around if any(effect_words.is_confirming(text) for text in words) else ():
        about = text if effect_words.read_effects(text) else about
        effects |= effect_words.read_effects(text)
    return PressJudgement(frozenset(effects), about=field_text(excerpt(about, 80)))


def is_reached(thing: Element, observation: Observation) -> bool:
    """Whether Tab or a letter may reach a button; neither reaches a program's tool bars."""
    elements, _, holders, _, page = observation.elements or (), *_around(thing, observation)
    barred = any(elements[number].role == "tool bar" for number in holders)
    return page is not None or not barred


def find_pressed_by_enter(focus: Element, observation: Observation) -> Sequence[Element]:
    """Returns the buttons that Enter may press while something else has the focus.

    A page does not say which fields are a form: the first button after a field may send it.
    """
    elements, own, _, dialog, page = observation.elements or (), *_around(focus, observation)
    outer = page if dialog is None else dialog
    buttons = [
        number
        for number, element in enumerate(elements)
        if element.role in ("push button", "button") and element.window == focus.window
        if outer is None or is_part_of(number, outer, elements)
    ]
    if dialog is None and page is not None:
        sends = focus.role in FIELDS
        return [elements[number] for number in buttons if sends and number > own][:1]
    default = [number for number in buttons if "is-default" in elements[number].states]
    return [elements[number] for number in default or (buttons if dialog is not None else ())]


def list_words(thing: Element) -> list[str]:
    """Returns the texts that name a thing.

    What a seen icon may mean is none of them: an arrow may send. A single letter may be an icon.
    """
    if GUESSED in thing.states:
        return []
    texts = (thing.name, thing.text, thing.label, thing.description)
    least = 2 if SEEN in thing.states else 0
    return [text for text in texts if text and sum(map(str.isalnum, text)) >= least]


def _question_texts(thing: Element, observation: Observation) -> Iterator[str]:
    """Yields the texts that a yes answers: those of the dialog, else those before the button."""
    elements, own, holders, dialog, _ = observation.elements or (), *_around(thing, observation)
    texts = [
        number
        for number, element in enumerate(elements)
        if element.role in _TEXTS and "editable" not in element.states
        if not is_part_of(number, own, elements)
    ]
    if dialog is not None:
        yield elements[dialog].name
    for holder in holders if dialog is None else [dialog]:
        inside = [number for number in texts if is_part_of(number, holder, elements)]
        if dialog is None:
            inside = [number for number in inside if number < own][-_NEAR:]
        yield from (elements[number].text or elements[number].name for number in inside)
        if inside:
            return


def _around(
    thing: Element, observation: Observation
) -> tuple[int, list[int], int | None, int | None]:
    """Returns the numbers of a thing, of its ancestors from the innermost, its dialog, its page."""
    elements = observation.elements or ()
    own = next(number for number, element in enumerate(elements) if element is thing)
    holders, at = list[int](), _parent(thing)
    while at >= 0:
        holders.append(at)
        at = _parent(elements[at])
    if thing.parent is None:
        holders = [n for n in range(own - 1, -1, -1) if is_part_of(own, n, elements)]
    dialog = next((n for n in holders if elements[n].role in ("alert", "dialog")), None)
    return own, holders, dialog, next((n for n in holders if _is_page(elements[n])), None)


def _is_page(element: Element) -> bool:
    return element.role == "document web"


def _parent(element: Element) -> int:
    return -1 if element.parent is None else element.parent
