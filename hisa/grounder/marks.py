"""Marks: a short numbered list of the elements on the screen, and the places of its numbers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hisa.actions import Action, fill, points, slots, to_source
from hisa.errors import InvalidReply, NotFound
from hisa.events import GroundingFailed
from hisa.grounder.common import grounded_event
from hisa.grounder.row_names import row_names
from hisa.grounder.scenery import open_scenery
from hisa.grounder.thing import Thing
from hisa.grounder.thing_lines import (
    describe_thing,
    fit_in_quotes,
    in_windows,
    place_of,
    rank_things,
    select_useful,
)
from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import Emit, GroundedCall, Grounder, Place, Task, ToolCall
from hisa.screen.bubbles import in_front
from hisa.screen.cut_lists import left_out
from hisa.screen.observation import Observation

__all__ = ["LIST_TOKENS", "MarkGrounder", "Marks"]

LIST_TOKENS = 800
"""Most tokens of a list, by the upper estimate: it replaces a picture."""
_WINDOWS = 6
"""Most other windows that are named above a list; chosen by hand."""
_MARK = re.compile(r"\s*element\s*[:#]?\s*(\d{1,9})\s*\.?\s*", re.IGNORECASE)


class Marks:
    """The newest numbered list, for the planner that reads it and the grounder that resolves it.

    The same look and task always give the same list.
    """

    def __init__(self) -> None:
        self._newest: tuple[Place, ...] = ()

    def build_list(self, task: Task, observation: Observation) -> str:
        """Returns the list of the elements on the screen, of at most `LIST_TOKENS` tokens.

        If not all of them fit, the elements that the task's words name and those of the focused
        window are preferred. The list is in the order of the screen.
        """
        things = in_windows(select_useful(open_scenery(observation).things), observation)
        best_first = rank_things(things, task, observation)
        rows = row_names(things, observation, describe_thing, counted=True)
        head, tail = list(_windows(observation)), list(_partial(observation, things))

        def pick_best(size: int) -> list[Thing]:
            best = set(map(id, best_first[:size]))
            return [thing for thing in things if id(thing) in best]

        def text(size: int) -> str:
            body = _body(pick_best(size), observation, rows)
            return "\n".join([*head, *body, *_rest(len(things) - size), *tail])

        size = longest(len(things), lambda size: estimate_tokens(text(size)) <= LIST_TOKENS)
        self.number(pick_best(size), observation, rows)
        return text(size)

    def number(
        self, things: Sequence[Thing], observation: Observation, rows: Mapping[Thing, str]
    ) -> None:
        """Number these elements as the newest list, starting with 1.

        Args:
            things: the listed elements, in order.
            observation: the look that they are from.
            rows: words that distinguish equal elements; see `row_names`.
        """
        places = [place_of(thing, observation) for thing in things]
        self._newest = tuple(
            replace(place, label=f"{place.label} {rows.get(thing, '')}".strip())
            for place, thing in zip(places, things, strict=True)
        )

    def check(self, call: ToolCall) -> None:
        """Refuse numbers that the newest list does not have.

        Raises:
            InvalidReply: names the number and the allowed range.
        """
        try:
            for index in slots(call.actions):
                self.find(_read_description(call, index))
        except NotFound as error:
            raise InvalidReply(str(error)) from error

    def find(self, description: str) -> Place | None:
        """Returns the place of ``element: N`` in the newest list; None for other descriptions.

        Its ``label`` has the words of the list.

        Raises:
            NotFound: the list has no such number.
        """
        match = _MARK.fullmatch(description)
        if match is None:
            return None
        number = int(match[1])
        if not 1 <= number <= len(self._newest):
            range_text = f"it goes from 1 to {len(self._newest)}" if self._newest else "it is empty"
            raise NotFound(
                f"element {number} is not on the list of this screen: {range_text}. "
                "Give a number from "
                "it, or describe the element in words"
            )
        return replace(self._newest[number - 1], description=description.strip())


class MarkGrounder:
    """Resolves ``element: N`` to the place in the list that the planner read.

    Every other description is passed to another grounder. The history shows the element instead
    of its number, since the next list is numbered anew.

    Args:
        inner: resolves descriptions in words.
        marks: holds the list.
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
    """

    def __init__(self, inner: Grounder, marks: Marks, *, emit: Emit) -> None:
        self._inner = inner
        self._marks = marks
        self._emit = emit

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call.

        Raises:
            NotFound: a number is not on the list, or the inner grounder found no match.
            ModelUnavailable, BudgetExceeded: from the inner grounder.
        """
        started = time.monotonic()
        marked_places = self._find_marked(call)
        if not marked_places:
            return await self._inner.resolve(call, observation)
        unmarked_actions = [
            action for action in call.actions if not _has_mark(action, marked_places)
        ]
        others = await self._resolve_others(call, marked_places, unmarked_actions, observation)
        at = {index: place.point for index, place in marked_places.items()}
        rest = iter(others.actions)
        actions = tuple(
            fill([action], at)[0] if _has_mark(action, marked_places) else next(rest)
            for action in call.actions
        )
        places = (*marked_places.values(), *others.places)
        source = to_source(actions)
        self._emit(grounded_event(places, source, observation, time.monotonic() - started))
        labels = {index: place.label for index, place in marked_places.items()}
        return GroundedCall(_with_words(call, labels), source, actions, places)

    def _find_marked(self, call: ToolCall) -> dict[int, Place]:
        """Returns the slots of a call that are numbers, with their places."""
        places = {}
        for index in slots(call.actions):
            description = _read_description(call, index)
            try:
                place = self._marks.find(description)
            except NotFound as error:
                self._emit(GroundingFailed(description=description, reason=str(error)))
                raise
            if place is not None:
                places[index] = place
        return places

    async def _resolve_others(
        self,
        call: ToolCall,
        marked_places: Mapping[int, Place],
        actions: Sequence[Action],
        observation: Observation,
    ) -> GroundedCall:
        """Resolve the actions without a number; the inner grounder is asked only if needed."""
        if not slots(actions) and not points(actions):
            return GroundedCall(call, call.input, tuple(actions))
        part = replace(call, actions=tuple(actions), input=to_source(actions))
        return await self._inner.resolve(
            _with_words(part, dict.fromkeys(marked_places, "")), observation
        )


def _read_description(call: ToolCall, index: int) -> str:
    return call.description if index == 1 else call.description_2


def _with_words(call: ToolCall, words: Mapping[int, str]) -> ToolCall:
    """Returns the call with new descriptions for some slots."""
    return replace(
        call,
        description=words.get(1, call.description),
        description_2=words.get(2, call.description_2),
    )


def _has_mark(action: Action, marked_places: Mapping[int, Place]) -> bool:
    return any(index in marked_places for index in slots([action]))


def _windows(observation: Observation) -> Iterator[str]:
    active = observation.active
    if active is not None:
        yield f'window: "{fit_in_quotes(active.title)}" ({fit_in_quotes(active.app)})'
    others = [w.title for w in observation.windows if w is not active]
    if others:
        yield "other windows: " + "; ".join(f'"{fit_in_quotes(t)}"' for t in others[:_WINDOWS])


def _body(
    things: Sequence[Thing], observation: Observation, rows: Mapping[Thing, str]
) -> Iterator[str]:
    window, front = "", in_front(observation)
    for number, thing in enumerate(things, 1):
        if thing.element.window != window and not front(thing.element.window):
            window = thing.element.window
            yield f'in "{fit_in_quotes(window)}":'
        yield f"{number} {describe_thing(thing)} {rows.get(thing, '')}".rstrip()


def _rest(left_out: int) -> Iterator[str]:
    if left_out:
        yield f"({left_out} more are on the screen: describe in words what is not listed.)"


def _partial(observation: Observation, things: Sequence[Thing]) -> Iterator[str]:
    active = observation.active
    if active is not None and not things:
        yield f'("{fit_in_quotes(active.title)}" tells nothing of what it shows.)'
    yield from left_out(observation)
