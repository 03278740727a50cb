"""Candidates for one step: replies sampled at once, their targets found in one batch."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from hisa.actions import slots
from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable, NotFound
from hisa.events import PlaceFound, Sampled
from hisa.planner.canonical import canonical_keys
from hisa.planner.judging import Candidate
from hisa.planner.planner import GlobalPlanner, planned_calls
from hisa.protocols import Emit, GroundedCall, ModelRequest, ToolCall
from hisa.screen.observation import Observation

__all__ = ["Candidates", "Ground", "Sampler"]

T = TypeVar("T")
Ground = Callable[[ToolCall, Observation], Awaitable[GroundedCall]]
"""Finds the targets of a call and of those that follow it, on a look."""
_Reply = ToolCall | BaseException


class Candidates:
    """The replies to one question.

    Args:
        asked: the question.
        first: the ``n`` of the first reply.
    """

    def __init__(self, asked: ModelRequest, *, first: int = 1) -> None:
        self.asked = asked
        self.usable: list[Candidate] = []
        self.errors: list[InvalidReply | ModelUnavailable] = []
        self._first = first

    @property
    def count(self) -> int:
        """The replies so far, unusable ones included."""
        return len(self.usable) + len(self.errors)

    @property
    def next_n(self) -> int:
        """The ``n`` of the next reply."""
        return self._first + self.count

    @property
    def distinct(self) -> list[Candidate]:
        """The first of each key, in the order they came."""
        first: dict[str, Candidate] = {}
        for each in self.usable:
            first.setdefault(each.key, each)
        return list(first.values())

    @property
    def agree(self) -> bool:
        """Whether several usable replies came, all of them found and of one key."""
        found = len(self.usable) > 1 and all(each.is_found for each in self.usable)
        return found and len(self.distinct) == 1

    @property
    def favourite(self) -> Candidate:
        """The first of those that most agree with; found ones go before the others."""
        votes = Counter(each.key for each in self.usable)
        return min(self.distinct, key=lambda each: (not each.is_found, -votes[each.key], each.n))

    def failure(self) -> InvalidReply | ModelUnavailable:
        """The error of a step without a usable reply: an endpoint that answers is no broken one."""
        return next((e for e in self.errors if isinstance(e, InvalidReply)), self.errors[0])


class Sampler:
    """Asks the planner's model several times at once.

    Args:
        planner: asks, checks and corrects.
        ground: finds targets; asked for all of a batch at once, so equal ones are best shared.
        temperature: of the replies.
        emit: gets a `Sampled` for each.
    """

    def __init__(
        self, planner: GlobalPlanner, ground: Ground, *, temperature: float, emit: Emit
    ) -> None:
        self._planner = planner
        self._ground = ground
        self._temperature = temperature
        self._emit = emit

    async def sample(
        self, candidates: Candidates, count: int, observation: Observation, *, round_: int = 1
    ) -> None:
        """Add so many replies.

        A reply that is unusable or does not come is an error among the candidates. Whatever ends
        the run is raised once all have ended, so that each reply that is paid for is in the log.

        Raises:
            BudgetExceeded: from a model.
            EnvironmentFailed: the machine does not answer.
        """
        question = replace(candidates.asked, temperature=self._temperature)
        replies = await _all(
            (self._planner.propose(question) for _ in range(count)), InvalidReply, ModelUnavailable
        )
        calls = [reply for reply in replies if isinstance(reply, ToolCall)]
        found = await _all(
            (self._ground(call, observation) for call in calls),
            NotFound,
            ModelUnavailable,
        )
        grounded = iter(found)
        for n, reply in enumerate(replies, candidates.next_n):
            if isinstance(reply, InvalidReply | ModelUnavailable):
                candidates.errors.append(reply)
                self._emit(Sampled(n=n, round=round_, error=str(reply)))
            elif isinstance(reply, ToolCall):
                candidates.usable.append(_candidate(n, reply, next(grounded)))
        self._tell(candidates, len(calls), round_)

    def _tell(self, candidates: Candidates, new: int, round_: int) -> None:
        """Give every candidate its key, and write the new ones down."""
        candidates.usable = _with_keys(candidates.usable)
        for each in candidates.usable[len(candidates.usable) - new :]:
            self._emit(_event(each, round_))


async def _all(works: Iterable[Awaitable[T]], *tolerated: type[Exception]) -> list[T | Exception]:
    """The results in order, tolerated errors among them; nothing is left running.

    Raises:
        BaseException: any other error, once all have ended; a reached limit before a defect.
    """
    results = await asyncio.gather(*works, return_exceptions=True)
    kept: list[T | Exception] = []
    fatal: list[BaseException] = []
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, tolerated):
            fatal.append(result)
        else:
            kept.append(result)
    if fatal:
        raise next((e for e in fatal if isinstance(e, BudgetExceeded)), fatal[0])
    return kept


def _candidate(n: int, call: ToolCall, found: GroundedCall | Exception) -> Candidate:
    if isinstance(found, GroundedCall):
        return Candidate(n, call, found, found.lacking)
    return Candidate(n, call, GroundedCall(call, call.input, call.actions), str(found))


def _with_keys(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with their keys; one that was not found never has that of one that was.

    Of targets that are still to be found, the words count.
    """
    keys = canonical_keys([each.grounded.sequence for each in candidates])
    return [
        replace(each, key=f"{_open_words(each)}{key}")
        for each, key in zip(candidates, keys, strict=True)
    ]


def _open_words(each: Candidate) -> str:
    words = f"{_described(each.call)}: "
    if not each.is_found:
        return f"not found {words}"
    return words if any(slots(call.actions) for call in each.grounded.sequence) else ""


def _described(call: ToolCall) -> str:
    words = (f"{each.description} {each.description_2}" for each in call.sequence)
    return " ".join(" ".join(words).casefold().split())


def _event(candidate: Candidate, round_: int) -> Sampled:
    call = candidate.call
    places = (
        PlaceFound(
            description=place.description,
            x=place.point.x,
            y=place.point.y,
            score=place.score,
            source=place.source,
            label=place.label,
        )
        for each in candidate.grounded.sequence
        for place in each.places
    )
    return Sampled(
        n=candidate.n,
        round=round_,
        key=candidate.key,
        tool=call.tool,
        input=call.input,
        description=call.description,
        description_2=call.description_2,
        following=planned_calls(call.following),
        places=tuple(places),
        not_found=candidate.not_found,
    )
