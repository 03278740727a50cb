"""Finds the control with exactly the described name, if no other element can be meant.

Most descriptions of planners are of this sort: ``menu "Edit"``. The result is the one that a
matcher would reach with all its evidence, without weighing any, and only if no evidence could
change it. Every doubt (a word of the name elsewhere, something opened or covering the control, a
look without states, a name read off the picture) is left to the matcher.
"""

from __future__ import annotations

import re

from hisa.errors import NotFound
from hisa.grounder.common import resolve
from hisa.grounder.matchers import NO_MATCHER, FinderParts
from hisa.grounder.spots import spot_in
from hisa.grounder.thing import describe_element
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.screen.bubbles import TOPS
from hisa.screen.observation import Element, Observation
from hisa.screen.role_words import find_kind
from hisa.screen.roles import COVERED
from hisa.screen.sight import SEEN

__all__ = ["NamesGrounder", "find_plainly_named", "place_by_name"]

_KIND_AND_NAME = re.compile(
    r'(?:the )?([a-z][a-z -]*) "([^"\d]{3,19})"|(?:the )?"([^"\d]{3,19})" ([a-z][a-z -]*)'
)
"""A kind and a quoted name, and nothing else. A shorter name may be a sign; a longer one may be
matched by its beginning; one with a number may be a day."""
_READ_OTHERWISE = re.compile(r"\b(?:that|which) (?:is|are)\b|day\b", re.I)
"""Words of descriptions that are not read literally, though they are quoted."""
_PRESSED = frozenset({"push button", "button", "toggle button", "menu", "page tab"})
"""Roles of elements that show their own name, and label no other element."""
_OPENED = TOPS | {"calendar"}
_SHOWING, _USABLE = frozenset({"showing", "visible"}), frozenset({"enabled", "sensitive"})
_UNLIKE = 75
"""Percent of similarity below which a name without a common word is a different one; a matcher
does not count less similar elements as candidates."""


def find_plainly_named(description: str, observation: Observation) -> Element | None:
    """Returns the only element that a kind and a name can mean; None if there is any doubt."""
    words = _KIND_AND_NAME.fullmatch(description)
    if words is None or _READ_OTHERWISE.search(description):
        return None
    name = words[2] or words[3]
    kind, rest = find_kind(words[1] or words[4])
    if kind is None or rest or kind.word == "arrow" or name != " ".join(name.split()):
        return None
    named = [
        n
        for n, e in enumerate(observation.elements or ())
        if e.name == name and _SHOWING & e.states
    ]
    if len(named) != 1 or not observation.elements:
        return None
    element = observation.elements[named[0]]
    usable = element.states & _USABLE or not any(e.states & _USABLE for e in observation.elements)
    doubted = {COVERED, SEEN} & element.states
    if element.role not in _PRESSED & kind.roles or doubted or not usable:
        return None
    in_front = observation.active is None or element.window in ("", observation.active.title)
    is_bare = in_front and _is_bare(named[0], observation)
    return element if is_bare and _is_unlike_others(name, element, observation) else None


def place_by_name(description: str, observation: Observation) -> Place | None:
    """Returns the place of the element of `find_plainly_named`; None if there is any doubt."""
    element = find_plainly_named(description, observation)
    if element is None:
        return None
    point = spot_in(element, observation.convert_box(element.box, "image"))
    return Place(description, point, 1.0, "accessibility", describe_element(element), element)


class NamesGrounder:
    """Grounds plainly named elements only: the fallback if no matcher is installed.

    Args:
        parts: provides ``emit`` for the events and ``reader`` for looks with elements.
    """

    def __init__(self, parts: FinderParts) -> None:
        self._emit, self._reader = parts.emit, parts.reader

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; a call without slots is returned unchanged.

        Raises:
            NotFound: a description is more than a kind and a name, or may mean several elements.
        """
        return await resolve(
            call, observation, locate=self._locate, emit=self._emit, reader=self._reader
        )

    async def _locate(self, description: str, observation: Observation) -> Place:
        if place := place_by_name(description, observation):
            return place
        raise NotFound(f"not found: {description[:200]!r}: {NO_MATCHER}")


def _is_bare(number: int, observation: Observation) -> bool:
    """Whether no menu or dialog is open, and only an element's containers cover its middle.

    In a look without parents, no element is known to cover another.
    """
    elements = observation.elements or ()
    box, middle, at = elements[number].box, elements[number].box.centre, elements[number].parent
    large = box.width >= 4 and box.height >= 4 and box.left >= 0 and box.top >= 0
    if not large or box.right > observation.screen.width or box.bottom > observation.screen.height:
        return False
    has_parents, holders = at is not None, {number}
    while at is not None and at >= 0 and at not in holders:
        holders.add(at)
        at = elements[at].parent
    title = observation.active.title if observation.active else None
    for row, other in enumerate(elements):
        if (other.role in _OPENED and other.name != title) or "menu item" in other.role:
            return False
        around = other.box
        across = around.left <= middle.x < around.right
        has_middle = across and around.top <= middle.y < around.bottom
        if has_parents and has_middle != (row in holders):
            return False
    return True


def _is_unlike_others(name: str, element: Element, observation: Observation) -> bool:
    """Whether no other visible element has a word of the name or a similar name."""
    from rapidfuzz import fuzz, process

    plain_name = _plain(name)
    words = re.findall(r"\w+", plain_name)
    others: list[str] = []
    for other in observation.elements or ():
        if other is not element and other.states & _SHOWING:
            others += (other.name, other.text, other.label, other.description)
    texts = _plain("\n".join(others))
    if not words or re.search(rf"\b(?:{'|'.join(words)})\b", texts):
        return False
    lines = texts.split("\n")
    return process.extractOne(plain_name, lines, scorer=fuzz.ratio, score_cutoff=_UNLIKE) is None


def _plain(text: str) -> str:
    """Returns the text in lower case, without the signs that comparisons ignore."""
    return text.casefold().replace("_", "").replace("&", "")
