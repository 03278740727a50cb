"""Finds elements by accessibility first, then by what is drawn and written on the screenshot."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from hisa.errors import NotFound
from hisa.grounder.common import resolve
from hisa.grounder.description import Query, Relation, read_description
from hisa.grounder.pick import (
    ALIKE,
    BEHIND,
    Candidate,
    Choice,
    by_hand_choice,
    counts_rows,
    distinct_best,
    fits_but_blocked,
    is_behind,
    is_blocked,
)
from hisa.grounder.scene import READ, Scene, Thing, overlap
from hisa.grounder.screen_text import read_elements
from hisa.grounder.spots import spot_in
from hisa.plugins.reading.drawn_controls import drawn_control, lacks_control, named_control
from hisa.plugins.reading.tracks import slider_handle
from hisa.protocols import Emit, GroundedCall, Place, ToolCall
from hisa.screen.geometry import Point
from hisa.screen.lies_at import cover_at
from hisa.screen.observation import Element, Observation
from hisa.screen.ocr import OcrUnavailable, ReadText, read_text

__all__ = ["PARTIAL", "ElementsGrounder", "called", "choose", "names_a_part", "place_of", "spot"]

_PART = re.compile(
    r"\b(arrow|chevron|triangle|stepper|spinner (?:up|down)|increase|increment|decrease|decrement|"
    r"plus|minus|(?:raise|lower|reduce)s?(?= the\b)|by one|"
    r"one (?:\w+ )?(?:longer|shorter|more|less))|"
    r"[+−▲▼▾▴]",
    re.I,
)
"""Words that may mean a part which is no element of its own."""
_DRAWN = re.compile(
    r"\b(handle|knob|thumb|grip|title ?bar|scroll ?bar|icon|symbol|sign|cross|star|gear|bin|bell|"
    r"header)s?"
    r"\b|[×✕✓⋮☰]",
    re.I,
)
"""Words for what is mostly drawn and told by nobody, so that it is looked for at once."""
_SURE = 0.9
"""How sure a place is that what is drawn and written on the picture does not better; chosen by
hand."""
_JUST_SO = 0.99
"""What a thing must score by the weights set by hand to be called just as described: of such, 97 of
100 are right on the training screens."""
_TEXTUAL = frozenset({"menu item", "option", "entry", "item", "list item"})
"""Kinds of which what shows a text may be one, whatever it is told to be."""
_WITHIN = 0.9
"""The share of a control that lies on the line that holds it."""
PARTIAL = (
    "not all elements on the screen could be read in time, so that it may be there all the same: "
    "wait and try again, or use the keyboard"
)


class ElementsGrounder:
    """Resolves descriptions against the accessibility tree, then against read text.

    Args:
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
        min_score: how sure a place must be, 0..1; below it nothing is chosen.
        read: reads the text on a picture.
        shapes: whether what is only drawn is looked for.
    """

    def __init__(
        self,
        *,
        emit: Emit,
        min_score: float = 0.86,
        read: ReadText = read_text,
        shapes: bool = True,
    ) -> None:
        self._emit = emit
        self._min_score = min_score
        self._read = read
        self._shapes = shapes

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
        drawn = self._shapes and (parts or bool(_DRAWN.search(description)))
        choice = choose(queries, observation, self._min_score, parts=parts, shapes=drawn)
        words = choice.chosen is not None and lacks_control(queries[-1], choice.chosen.thing)
        if (words or not _is_sure(choice)) and drawn != self._shapes:
            choice = choose(queries, observation, self._min_score, parts=parts, shapes=True)
        reason = choice.reason
        if not _is_sure(choice):
            choice, reason = self._with_words(queries, observation, choice, parts=parts)
        if choice.chosen is not None:
            return place_of(description, choice.chosen, observation)
        raise _not_found(description, reason, choice.others, observation)

    def _with_words(
        self, queries: tuple[Query, ...], observation: Observation, told: Choice, *, parts: bool
    ) -> tuple[Choice, str]:
        """The choice among what was told and drawn, and what is written on the picture."""
        try:
            read = read_elements(queries, observation, self._read)
        except OcrUnavailable as error:
            return told, f"{told.reason}; the text on the picture cannot be read ({error})"
        choice = told
        if read:
            choice = choose(
                queries, observation, self._min_score, read, parts=parts, shapes=self._shapes
            )
        if choice.ambiguous or choice.blocked:  # what fits may be written too
            return choice, choice.reason
        return choice, f"{choice.reason}; nothing written on the picture fits"


def names_a_part(description: str) -> bool:
    """Whether a part of a control may be meant which is no element of its own."""
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
    """The thing that a description most likely means, if it is likely enough.

    Args:
        queries: the readings of the description, the usual one last.
        observation: the look.
        min_score: how sure a place must be, 0..1.
        read: lines read off the picture.
        parts: whether arrows of fields are things of their own.
        shapes: whether what is only drawn is looked for.
    """
    from hisa.plugins.reading.ranker import rank
    from hisa.plugins.reading.scene_table import Table

    scene = Scene(observation, read, parts=parts, shapes=shapes)
    by_hand = by_hand_choice(queries, scene)
    plain = by_hand.chosen if by_hand.chosen and _is_plain(queries[-1], by_hand.chosen) else None
    if plain is not None and drawn_control(queries[-1], plain.thing, scene) is None:
        return by_hand
    ranked = rank(queries, Table(scene))
    told = [Candidate(one.thing, one.chance) for one in ranked]
    quoted = _quoted(queries[-1], scene)
    if quoted is not None:
        return Choice(
            Candidate(quoted, max(min_score, _SURE)), others=tuple(distinct_best(told)[:5])
        )
    likely = bool(told) and ranked[0].sure >= min_score and not by_hand.too_few
    drawn = named_control(queries[-1], scene)
    if drawn is None and likely:
        drawn = drawn_control(queries[-1], told[0].thing, scene)
    if drawn is not None:
        sure = ranked[0].sure if likely else min_score
        return Choice(Candidate(drawn, sure), others=tuple(distinct_best(told)[:5]))
    if likely and not is_blocked(queries[-1], told[0].thing):
        best = Candidate(_held(queries[-1], told[0].thing, scene), ranked[0].sure)
        return Choice(best, others=tuple(distinct_best(told)[:5]))
    if by_hand.ambiguous:
        return by_hand
    # How alike a name is, is told by the weights set by hand, whatever the chances.
    others = tuple(distinct_best((*told, *by_hand.others))[:5])
    if fits_but_blocked(queries[-1], scene):
        return Choice(None, f"what fits is {BEHIND}", others, blocked=True)
    reason = "nothing fits well enough" if by_hand.chosen else by_hand.reason
    return Choice(None, reason, others)


def _quoted(query: Query, scene: Scene) -> Thing | None:
    """The one thing that shows just what is quoted, where no kind or an entry is asked for."""
    words = query.name.strip().casefold()
    alone = [query.name] == list(query.literals) and not query.hints and query.nth is None
    alone &= query.kind is None or query.kind.word in _TEXTUAL
    if not alone or not all(_holds(relation) for relation in query.relations):
        return None
    found = [t for t in scene.things if t.element.name.strip().casefold() == words != ""]
    if not found or any(is_blocked(query, t) for t in found):
        return None
    smallest = min(found, key=lambda t: t.box.area)
    return smallest if all(overlap(t.box, smallest.box) > _WITHIN for t in found) else None


def _holds(relation: Relation) -> bool:
    """Whether what is asked for is in a menu, list or dialog, and not in a table's row."""
    kind = relation.anchor.kind
    return relation.how == "within" and (kind is None or kind.word not in ("row", "column"))


def _held(query: Query, thing: Thing, scene: Scene) -> Thing:
    """The one control of the kind asked for that a line of a page holds; else the thing itself.

    The line has the words beside the control, and what is clicked is the control.
    """
    roles = query.kind.roles if query.kind else frozenset()
    if thing.role != "section" or thing.role in roles:
        return thing
    inside = [t for t in scene.things if t.role in roles and overlap(thing.box, t.box) > _WITHIN]
    return inside[0] if len(inside) == 1 else thing


def _is_plain(query: Query, chosen: Candidate) -> bool:
    """Whether a thing is called just so, or counted among rows, of which some are no things."""
    return chosen.score >= _JUST_SO or counts_rows(query)


def _is_sure(choice: Choice) -> bool:
    """Whether nothing that could be read off the picture would change the choice."""
    return choice.chosen is not None and choice.chosen.score >= _SURE


def place_of(description: str, chosen: Candidate, observation: Observation) -> Place:
    """The place of the chosen thing, with what it is."""
    box = observation.convert_box(chosen.box, "image")
    score = min(1.0, chosen.score)
    if chosen.thing.drawn is not None:
        return Place(description, box.centre, score, "shapes", called(chosen.element))
    if chosen.thing.role == READ:
        return Place(description, box.centre, score, "ocr", repr(chosen.element.name))
    point = spot(chosen.thing, observation)
    return Place(description, point, score, "accessibility", called(chosen.element))


def spot(thing: Thing, observation: Observation) -> Point:
    """The point of a thing to click, in image space; of a slider it is the handle that is seen."""
    box = thing.box
    if thing.role == "slider":
        box = next((handle.box for handle in slider_handle(thing, observation)), box)
    return spot_in(thing, observation.convert_box(box, "image"))


def called(element: Element) -> str:
    """The role and name of an element, as planners and events are told."""
    name = element.name or element.label or element.text or element.description
    return f'{element.role} "{" ".join(name.split())[:60]}"'


def _named(candidate: Candidate, observation: Observation) -> str:
    x, y = observation.convert_box(candidate.box, "image").centre.rounded()
    title = candidate.element.window
    elsewhere = title and (observation.active is None or observation.active.title != title)
    window = f" in {title[:40]!r}" if elsewhere else ""
    behind = f", {BEHIND}" if is_behind(candidate.thing) else ""
    if over := cover_at(candidate.element, candidate.box.centre, observation):
        behind = f", covered by {called(over)}"
    return f"{called(candidate.element)} at ({x}, {y}){window}{behind}"


def _not_found(
    description: str, reason: str, others: Sequence[Candidate], observation: Observation
) -> NotFound:
    known = tuple(_named(c, observation) for c in others)
    if others and (over := cover_at(others[0].element, others[0].box.centre, observation)):
        reason = reason.replace(BEHIND, f"covered by {called(over)}")
    told = "Closest" if any(c.score >= ALIKE for c in others) else "Nothing is alike; there are"
    closest = f". {told}: {'; '.join(known[:4])}" if known else ""
    if not observation.complete:
        reason = f"{reason}; {PARTIAL}"
    return NotFound(f"not found: {description[:200]!r}: {reason}{closest}", known)
