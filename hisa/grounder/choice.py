"""Has a model that need not see pick what is meant from a short list in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hisa.errors import ModelUnavailable, NotFound
from hisa.grounder.common import resolve
from hisa.grounder.listed_things import place_of, told, worth_telling
from hisa.grounder.matchers import NO_MATCHER, FinderParts
from hisa.grounder.plain_names import place_by_name
from hisa.grounder.scenery import open_scenery
from hisa.grounder.thing import Thing
from hisa.models.correction import with_correction
from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import GroundedCall, Message, Model, ModelRequest, Place, TextPart, ToolCall
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation
from hisa.text.prompt_text import excerpt, sections
from hisa.text.prompts import render
from hisa.text.words import tokens

__all__ = ["LIST_TOKENS", "ChoiceGrounder", "ask_pick", "list_text"]

LIST_TOKENS = 700
"""Most tokens of a list, by the upper estimate."""
_DESCRIPTION = 600
"""Characters of a description that are shown."""
_ANSWER = re.compile(r"[\s{\"'`*]*(?:(?:element|number|index)\b[\s\"'`:#*]*)?(\d{1,3})[\s}\"'`.*]*")


async def ask_pick(
    model: Model, description: str, things: Sequence[str], image: Size
) -> tuple[int, str]:
    """Returns the number that a model picks, 0 for none, and why where it is no number.

    Args:
        model: picks.
        description: what is looked for.
        things: the list, in words.
        image: the size of the picture in whose pixels the list tells places.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    system = render("element_choice", width=round(image.width), height=round(image.height))
    text = f"Description: {excerpt(description, _DESCRIPTION)}\n{list_text(things)}"
    request = ModelRequest(
        "grounder",
        (Message("system", (TextPart(system),)), Message("user", (TextPart(text),))),
    )
    answer = ""
    for _ in range(2):
        reply = await model.complete(request)
        answer = reply.text.strip()
        said = _ANSWER.fullmatch(answer)
        if said and int(said[1]) <= len(things):
            return int(said[1]), ""
        demand = f"That is no number from 0 to {len(things)}. Answer with the number alone."
        request = with_correction(request, replace(reply, text=answer), demand, shown=200)
    return 0, f"the answer is no number of the list: {excerpt(answer, 80)!r}"


def list_text(things: Sequence[str]) -> str:
    """The list as the model reads it."""
    lines = (f"{number} {words}" for number, words in enumerate(things, 1))
    return sections({"elements": "\n".join(lines)})


class ChoiceGrounder:
    """Has a model pick from what the screen tells, and takes what it picks.

    This is the choice where no matcher is installed, which would know how likely a pick is.

    Args:
        parts: with a model that picks.
    """

    def __init__(self, parts: FinderParts) -> None:
        if parts.picker is None:
            raise ValueError("a choice needs a model that picks")
        self._model, self._trust = parts.picker, parts.trust
        self._emit, self._reader = parts.emit, parts.reader

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; a call without slots is returned unchanged.

        Raises:
            NotFound: the model picked none, or is not asked.
            BudgetExceeded: from the model.
        """
        return await resolve(
            call, observation, locate=self._locate, emit=self._emit, reader=self._reader
        )

    async def _locate(self, description: str, observation: Observation) -> Place:
        if place := place_by_name(description, observation):
            return place
        head = f"not found: {description[:200]!r}"
        if self._trust.right is None:
            why = f"{self._model.name} is not asked to pick ({self._trust.words})"
            raise NotFound(f"{head}: {why}, and {NO_MATCHER}")
        listed = _listed(description, observation)
        words = [_line(thing, observation) for thing in listed]
        try:
            number, why = await ask_pick(self._model, description, words, observation.image)
        except ModelUnavailable as error:
            raise NotFound(f"{head}: {error}; and {NO_MATCHER}") from error
        if not number:
            none = why or f"{self._model.name} picks none of {len(listed)} things"
            raise NotFound(f"{head}: {none}", tuple(words[:4]))
        place = place_of(listed[number - 1], observation)
        return replace(place, description=description, source=self._model.name)


def _listed(description: str, observation: Observation) -> list[Thing]:
    """Returns what has most words of the description, as far as there is room."""
    things, asked = worth_telling(open_scenery(observation).things), tokens(description)
    best = sorted(things, key=lambda thing: -len(asked & tokens(told(thing))))
    words = [_line(thing, observation) for thing in best]
    size = longest(len(best), lambda size: estimate_tokens(list_text(words[:size])) <= LIST_TOKENS)
    kept = set(map(id, best[:size]))
    return [thing for thing in things if id(thing) in kept]


def _line(thing: Thing, observation: Observation) -> str:
    x, y = observation.convert_box(thing.box, "image").centre.rounded()
    return f"{told(thing)} at ({x}, {y})"
