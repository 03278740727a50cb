"""Finds elements by accessibility first, then by the text read off the screenshot."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from hisa.errors import NotFound
from hisa.grounder.common import resolve
from hisa.grounder.description import Query, read_description
from hisa.grounder.pick import ALIKE, Candidate, Choice, pick
from hisa.grounder.scene import READ, Scene
from hisa.grounder.screen_text import read_elements
from hisa.protocols import Emit, GroundedCall, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.screen.ocr import OcrUnavailable, ReadText, read_text

__all__ = ["ElementsGrounder", "choose", "names_a_part"]

_AS_A_NAME = 0.9
"""What "the first name field" must score to be the field "first name" and not the first one."""
_PART = re.compile(
    r"\b(arrow|chevron|triangle|stepper|spinner (?:up|down)|increase|increment|decrease|decrement|"
    r"plus|minus|\+|[▲▼▾▴])",
    re.I,
)
"""Words that may mean a part which is no element of its own."""
_SURE = 0.85
"""A score that what is written on the picture does not better; chosen by hand."""
_WIDE_EXPANDER = 150
"""Pixels; an expander wider than this is clicked at its title. Chosen by hand."""
_TITLE = 24
"""Pixels; from an expander's left end into its title."""
_PARTIAL = (
    "not all elements on the screen could be read in time, so that it may be there all the same: "
    "wait and try again, or use the keyboard"
)


class ElementsGrounder:
    """Resolves descriptions against the accessibility tree, then against read text.

    Args:
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
        min_score: below this nothing is chosen; 0..1.
        read: reads the text on a picture.
    """

    def __init__(self, *, emit: Emit, min_score: float = 0.64, read: ReadText = read_text) -> None:
        self._emit = emit
        self._min_score = min_score
        self._read = read

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; a call without slots is returned unchanged.

        Raises:
            NotFound: nothing fits well enough, or several fit equally well.
        """
        return await resolve(call, observation, locate=self._locate, emit=self._emit)

    async def _locate(self, description: str, observation: Observation) -> Place:
        return await asyncio.to_thread(self._locate_now, description, observation)

    def _locate_now(self, description: str, observation: Observation) -> Place:
        queries = read_description(description)
        parts = names_a_part(description)
        choice = choose(queries, observation, self._min_score, parts=parts)
        reason = choice.reason
        if not _is_sure(queries[-1], choice):
            choice, reason = self._with_words(queries, observation, choice, parts=parts)
        if choice.chosen is not None:
            return _place(description, choice.chosen, observation)
        raise _not_found(description, reason, choice.others, observation)

    def _with_words(
        self, queries: tuple[Query, ...], observation: Observation, told: Choice, *, parts: bool
    ) -> tuple[Choice, str]:
        """The choice among elements and what is written on the picture."""
        try:
            read = read_elements(queries, observation, self._read)
        except OcrUnavailable as error:
            return told, f"{told.reason}; the text on the picture cannot be read ({error})"
        choice = choose(queries, observation, self._min_score, read, parts=parts)
        if choice.ambiguous:  # several fit, and some of them may be written
            return choice, choice.reason
        return choice, f"{choice.reason}; nothing written on the picture fits"


def choose(
    queries: tuple[Query, ...],
    observation: Observation,
    min_score: float,
    read: tuple[Element, ...] = (),
    *,
    parts: bool = False,
) -> Choice:
    """The thing that a description means; its literal readings have to fit better."""
    scene = Scene(observation, read, parts=parts)
    for query in queries[:-1]:
        choice = pick(query, scene, max(_AS_A_NAME, min_score))
        if choice.chosen is not None:
            return choice
    return pick(queries[-1], scene, min_score)


def names_a_part(description: str) -> bool:
    """Whether a description may mean a part that is no element of its own."""
    return bool(_PART.search(description))


def _is_sure(query: Query, choice: Choice) -> bool:
    """Whether nothing that could be read off the picture would change the choice."""
    if choice.chosen is None:
        return False
    return choice.chosen.score >= _SURE or not query.literals


def _place(description: str, chosen: Candidate, observation: Observation) -> Place:
    box = observation.convert_box(chosen.box, "image")
    score = min(1.0, chosen.score)
    if chosen.thing.role == READ:
        return Place(description, box.centre, score, "ocr", repr(chosen.element.name))
    return Place(description, _spot(chosen, box), score, "accessibility", _label(chosen))


def _spot(chosen: Candidate, box: BoundingBox) -> Point:
    """The middle of a box, unless only one end of it reacts as wanted.

    An expander's box is as wide as what it folds, but only its title reacts; a spin button's
    number stands left of its arrows.
    """
    middle = box.centre
    if "expandable" in chosen.element.states and box.width > _WIDE_EXPANDER:
        return Point(box.left + _TITLE, middle.y, middle.space)
    if chosen.thing.role == "spin button" and box.width > box.height:
        return Point(box.left + 0.3 * box.width, middle.y, middle.space)
    return middle


def _label(candidate: Candidate) -> str:
    element = candidate.element
    name = element.name or element.label or element.text or element.description
    return f'{element.role} "{" ".join(name.split())[:60]}"'


def _named(candidate: Candidate, observation: Observation) -> str:
    x, y = observation.convert_box(candidate.box, "image").centre.rounded()
    title = candidate.element.window
    elsewhere = title and (observation.active is None or observation.active.title != title)
    return f"{_label(candidate)} at ({x}, {y})" + (f" in {title[:40]!r}" if elsewhere else "")


def _not_found(
    description: str, reason: str, others: Sequence[Candidate], observation: Observation
) -> NotFound:
    known = tuple(_named(c, observation) for c in others)
    told = "Closest" if any(c.score >= ALIKE for c in others) else "Nothing is alike; there are"
    closest = f". {told}: {'; '.join(known[:4])}" if known else ""
    if not observation.complete:
        reason = f"{reason}; {_PARTIAL}"
    return NotFound(f"not found: {description[:200]!r}: {reason}{closest}", known)
