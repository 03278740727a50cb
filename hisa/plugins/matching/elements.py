"""Finds elements by accessibility first, then by shapes and text on the screenshot."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress

from hisa.errors import NotFound
from hisa.grounder.common import is_within, resolve
from hisa.grounder.elements_reader import ElementsReader
from hisa.grounder.plain_names import place_by_name
from hisa.grounder.row_names import row_names
from hisa.grounder.spots import spot
from hisa.grounder.thing import READ, describe_element
from hisa.machine import plugins
from hisa.plugins.matching.description import Query, read_description
from hisa.plugins.matching.pick import (
    BEHIND,
    MIN_CLOSE_SCORE,
    Candidate,
    Choice,
    is_behind,
)
from hisa.plugins.matching.ranking import SURE, choose_thing
from hisa.plugins.matching.scene import Scene
from hisa.plugins.matching.screen_text import read_elements
from hisa.plugins.matching.shown_parts import EDGED, is_painted_over
from hisa.protocols import Emit, GroundedCall, Place, ToolCall
from hisa.screen.cut_lists import cut_lists
from hisa.screen.observation import Element, Observation
from hisa.screen.ocr import OcrUnavailable, ReadText, read_text
from hisa.screen.sight import SEEN, is_seen
from hisa.text.words import tokens

__all__ = [
    "PARTIAL",
    "ElementsGrounder",
    "choose",
    "names_a_part",
    "place_of",
]

_PART = re.compile(
    r"\b(arrow|chevron|triangle|stepper|spinner (?:up|down)|increase|increment|decrease|decrement|"
    r"plus|minus|(?:raise|lower|reduce)s?(?= the\b)|by one|"
    r"one (?:\w+ )?(?:longer|shorter|more|less))|"
    r"[+−▲▼▾▴]",
    re.I,
)
"""Words that may mean a part of a control that is not a separate element."""
_DRAWN = re.compile(
    r"\b(handle|knob|thumb|grip|title ?bar|scroll ?bar|icon|symbol|sign|cross|star|gear|bin|bell|"
    r"header)s?"
    r"\b|[×✕✓⋮☰]",
    re.I,
)
"""Words for things that are usually only drawn, so that shapes are searched at once."""
PARTIAL = (
    "not all elements on the screen are known, so that it may be there all the same: "
    "wait and try again, or use the keyboard"
)


class ElementsGrounder:
    """Resolves descriptions against the accessibility tree, then against read text.

    Args:
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
        min_score: least score of a place, 0 to 1; below it nothing is chosen.
        min_score_seen: the same where elements were seen on the picture.
        read: reads the text on a picture.
        shapes: whether things that are only drawn are searched too.
        reader: takes a new look with elements if those of a look are old or missing; None: looks
            are used as they are.
    """

    def __init__(
        self,
        *,
        emit: Emit,
        min_score: float = 0.86,
        min_score_seen: float = 0.55,
        read: ReadText = read_text,
        shapes: bool = True,
        reader: ElementsReader | None = None,
    ) -> None:
        self._reader = reader
        self._emit = emit
        self._min_score, self._min_score_seen = min_score, min_score_seen
        self._read = read
        self._shapes = shapes
        self._lists_are_ours = all(map(plugins.is_ours, plugins.points("lists")))

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fills the slots of a call; a call without slots is returned unchanged.

        Raises:
            NotFound: nothing fits well enough, or several fit equally well.
        """
        return await resolve(
            call, observation, locate=self._locate, emit=self._emit, reader=self._reader
        )

    async def answer(self, description: str, observation: Observation) -> Place | NotFound:
        """Returns the place of one description on a look, or why there is none; emits nothing."""
        try:
            place = await self._locate(description, observation)
        except NotFound as error:
            return error
        if is_within(place.point, observation):
            return place
        return NotFound(f"{description!r}: the place found lies outside the picture")

    async def _locate(self, description: str, observation: Observation) -> Place:
        return await asyncio.to_thread(self._locate_now, description, observation)

    def _locate_now(self, description: str, observation: Observation) -> Place:
        parts = names_a_part(description)
        drawn = self._shapes and (parts or bool(_DRAWN.search(description)))
        if self._lists_are_ours and not parts and not drawn:  # a package may add things of the name
            place = place_by_name(description, observation)
            if place is not None and not _is_hidden(place, observation):
                return place
        queries = read_description(description)
        least = self._get_min_score(observation)
        choice = choose(queries, observation, least, parts=parts, shapes=drawn)
        if not _is_sure(choice) and drawn != self._shapes:
            choice = choose(queries, observation, least, parts=parts, shapes=True)
        reason = choice.reason
        if not _is_sure(choice):
            choice, reason = self._with_words(queries, observation, choice, parts=parts)
        choice, reason = self._drop_covered(choice, reason, observation)
        if choice.chosen is not None:
            return place_of(description, choice.chosen, observation)
        raise _build_refusal(description, reason, choice.others, observation)

    def _get_min_score(self, observation: Observation) -> float:
        return self._min_score_seen if is_seen(observation) else self._min_score

    def _with_words(
        self,
        queries: tuple[Query, ...],
        observation: Observation,
        tree_choice: Choice,
        *,
        parts: bool,
    ) -> tuple[Choice, str]:
        """Returns the choice with text read off the picture included, and its reason."""
        try:
            read = read_elements(queries, observation, self._read)
        except OcrUnavailable as error:
            return (
                tree_choice,
                f"{tree_choice.reason}; the text on the picture cannot be read ({error})",
            )
        choice = tree_choice
        if read:
            least = self._get_min_score(observation)
            choice = choose(queries, observation, least, read, parts=parts, shapes=self._shapes)
        if choice.ambiguous or choice.blocked:  # then something fits, perhaps a text
            return choice, choice.reason
        return choice, f"{choice.reason}; nothing written on the picture fits"

    def _drop_covered(
        self, choice: Choice, reason: str, observation: Observation
    ) -> tuple[Choice, str]:
        """Drops the choice of a covered thing whose words do not show on the picture."""
        chosen = choice.chosen
        if chosen is not None and is_painted_over(chosen.element, observation):
            words = (
                f"{describe_element(chosen.element)} is painted over, nothing of it is to be seen"
            )
            return Choice(None, words, (chosen, *choice.others)), words
        if chosen is None or chosen.thing.cover is None or chosen.thing.cover.is_certain:
            return choice, reason
        e, box = chosen.element, observation.convert_box(chosen.box, "image")
        with suppress(OcrUnavailable):
            lines = self._read(observation.without_pointer.screenshot, box)
            if tokens(" ".join(line.text for line in lines)) & tokens(f"{e.name} {e.text}"):
                return choice, reason
        words = f"{chosen.thing.cover.words} {describe_element(chosen.thing.cover.element)}"
        others = (chosen, *(other for other in choice.others if other.thing is not chosen.thing))
        return Choice(None, words, others), f"what fits is {words}"


def _is_hidden(place: Place, observation: Observation) -> bool:
    """Whether the picture shows that something is painted over a control."""
    element = place.element
    return element is not None and element.role in EDGED and is_painted_over(element, observation)


def names_a_part(description: str) -> bool:
    """Whether a part of a control may be meant that is not a separate element."""
    return bool(_PART.search(description))


def choose(
    queries: tuple[Query, ...],
    observation: Observation,
    min_score: float,
    read: tuple[Element, ...] = (),
    *,
    parts: bool = False,
    shapes: bool = False,
) -> Choice:
    """Returns the thing that a description most likely means, if it is likely enough.

    Args:
        queries: the readings of the description, the usual one last.
        observation: the look.
        min_score: least score of the thing, 0 to 1.
        read: lines read off the picture, as elements.
        parts: whether arrows of fields are separate things.
        shapes: whether things that are only drawn are searched too.
    """
    scene = Scene(observation, read, parts=parts, shapes=shapes)
    return choose_thing(queries, scene, min_score)


def _is_sure(choice: Choice) -> bool:
    """Whether the choice is so sure that text on the picture would not change it."""
    return choice.chosen is not None and choice.chosen.score >= SURE


def place_of(description: str, chosen: Candidate, observation: Observation) -> Place:
    """Returns the place of the chosen thing.

    Args:
        description: of the target.
        chosen: the thing, with its score.
        observation: the look that it is on.
    """
    box = observation.convert_box(chosen.box, "image")
    score, element = min(1.0, chosen.score), chosen.thing.control or chosen.element
    seen = SEEN in element.states
    if chosen.thing.drawn is not None:
        source = "eyes" if seen else "shapes"
        return Place(description, box.centre, score, source, describe_element(element), element)
    if chosen.thing.role == READ:
        return Place(description, box.centre, score, "ocr", repr(element.name), element)
    point = spot(chosen.thing, observation)
    source = "eyes" if seen else "accessibility"
    return Place(description, point, score, source, describe_element(element), element)


def _describe_candidate(candidate: Candidate, observation: Observation) -> str:
    x, y = observation.convert_box(candidate.box, "image").centre.to_pixels()
    title = candidate.element.window
    elsewhere = title and (observation.active is None or observation.active.title != title)
    window = f" in {title[:40]!r}" if elsewhere else ""
    behind = f", {BEHIND}" if is_behind(candidate.thing) else ""
    if cover := candidate.thing.cover:
        behind = f", {cover.words} {describe_element(cover.element)}"
    return f"{describe_element(candidate.element)} at ({x}, {y}){window}{behind}"


def _build_refusal(
    description: str, reason: str, others: Sequence[Candidate], observation: Observation
) -> NotFound:
    rows = row_names(
        [c.thing for c in others], observation, lambda thing: describe_element(thing.element)
    )
    known = tuple(
        f"{_describe_candidate(c, observation)} {rows.get(c.thing, '')}".strip() for c in others
    )
    if others and (cover := others[0].thing.cover):
        reason = reason.replace(BEHIND, f"{cover.words} {describe_element(cover.element)}")
    intro = (
        "Closest"
        if any(c.score >= MIN_CLOSE_SCORE for c in others)
        else "Nothing is alike; there are"
    )
    closest = f". {intro}: {'; '.join(known[:4])}" if known else ""
    if not observation.complete:
        reason = f"{reason}; {PARTIAL}"
    if rest := cut_lists(observation):
        reason = f"{reason}; {rest}"
    return NotFound(f"not found: {description[:200]!r}: {reason}{closest}", known)
