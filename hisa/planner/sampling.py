"""Candidates for one step: replies that are sampled at once, and which of them do the same."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hisa.actions import to_source
from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable
from hisa.events import Sampled
from hisa.planner.planner import GlobalPlanner, planned_calls
from hisa.protocols import Emit, ModelRequest, ToolCall

__all__ = ["Candidate", "Candidates", "Sampler", "key_of"]

T = TypeVar("T")
_ALONE = frozenset({"termination", "infeasible", "wait"})
"""Tools whose words or seconds make no other decision."""


def key_of(call: ToolCall) -> str:
    """Returns a text that is equal for replies that would do the same.

    They have the same tools and inputs, and name their targets by the same words. White space and
    capitals of descriptions, and the spelling of actions, make no difference.
    """
    return json.dumps([_key(each) for each in call.sequence], ensure_ascii=False, default=str)


def _key(call: ToolCall) -> list[object]:
    if call.tool in _ALONE:
        return [call.tool]
    if call.actions:
        return [call.tool, to_source(call.actions), *_words(call)]
    if isinstance(call.input, str):
        return [call.tool, call.input.strip(), *_words(call)]
    return [call.tool, sorted(call.input.items()), *_words(call)]


def _words(call: ToolCall) -> list[str]:
    return [" ".join(text.casefold().split()) for text in (call.description, call.description_2)]


@dataclass(frozen=True)
class Candidate:
    """A usable reply to the planner's question; ``n`` counts within the step."""

    n: int
    call: ToolCall

    @property
    def key(self) -> str:
        """Returns what equal candidates have in common; see `key_of`."""
        return key_of(self.call)


@dataclass
class Candidates:
    """The replies to one question; ``first`` is the number of the first one."""

    asked: ModelRequest
    first: int = 1
    usable: list[Candidate] = field(default_factory=list)
    errors: list[InvalidReply | ModelUnavailable] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Returns the number of replies so far, unusable ones included."""
        return len(self.usable) + len(self.errors)

    @property
    def next_n(self) -> int:
        """Returns the number of the next reply."""
        return self.first + self.count

    @property
    def distinct(self) -> list[Candidate]:
        """Returns the first candidate of each key, in the order they came."""
        first: dict[str, Candidate] = {}
        for candidate in self.usable:
            first.setdefault(candidate.key, candidate)
        return list(first.values())

    @property
    def agree(self) -> bool:
        """Whether several usable replies came, all of one key."""
        return len(self.usable) > 1 and len(self.distinct) == 1

    @property
    def favourite(self) -> Candidate:
        """Returns the first of those that most agree with."""
        votes = Counter(candidate.key for candidate in self.usable)
        return max(self.distinct, key=lambda candidate: (votes[candidate.key], -candidate.n))

    def failure(self) -> InvalidReply | ModelUnavailable:
        """Returns the error of a step without a usable reply; an endpoint that answers works."""
        invalid = (error for error in self.errors if isinstance(error, InvalidReply))
        return next(invalid, self.errors[0])


class Sampler:
    """Asks the planner's model several times at once.

    Args:
        planner: asks, checks and corrects.
        temperature: of the replies.
        emit: gets a `Sampled` for each.
    """

    def __init__(self, planner: GlobalPlanner, *, temperature: float, emit: Emit) -> None:
        self._planner = planner
        self._temperature = temperature
        self._emit = emit

    async def sample(self, candidates: Candidates, count: int, *, round_: int = 1) -> None:
        """Add so many replies.

        A reply that is unusable or does not come is an error among the candidates. Whatever ends
        the run is raised once all have ended, so that each reply that is paid for is in the log.

        Raises:
            BudgetExceeded: from the model.
        """
        question = replace(candidates.asked, temperature=self._temperature)
        replies = await _gather(self._planner.propose(question) for _ in range(count))
        for n, reply in enumerate(replies, candidates.next_n):
            if isinstance(reply, ToolCall):
                candidate = Candidate(n, reply)
                candidates.usable.append(candidate)
                self._emit(_event(candidate, round_))
            else:
                candidates.errors.append(reply)
                self._emit(Sampled(n=n, round=round_, error=str(reply)))


async def _gather(works: Iterable[Awaitable[T]]) -> list[T | InvalidReply | ModelUnavailable]:
    """Returns the results in order, errors of single samples among them; leaves nothing running.

    Raises:
        BaseException: any other error, once all have ended; a reached limit before a defect.
    """
    results = await asyncio.gather(*works, return_exceptions=True)
    kept: list[T | InvalidReply | ModelUnavailable] = []
    fatal: list[BaseException] = []
    for result in results:
        if isinstance(result, InvalidReply | ModelUnavailable):
            kept.append(result)
        elif isinstance(result, BaseException):
            fatal.append(result)
        else:
            kept.append(result)
    if fatal:
        raise next((error for error in fatal if isinstance(error, BudgetExceeded)), fatal[0])
    return kept


def _event(candidate: Candidate, round_: int) -> Sampled:
    call = candidate.call
    return Sampled(
        n=candidate.n,
        round=round_,
        key=candidate.key,
        tool=call.tool,
        input=call.input,
        description=call.description,
        description_2=call.description_2,
        following=planned_calls(call.following),
    )
