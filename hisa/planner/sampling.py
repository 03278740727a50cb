"""Candidates for one step: replies that are sampled together, and which of them are equal."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field

from hisa.actions import to_source
from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable
from hisa.events import Sampled
from hisa.planner.planner import GlobalPlanner, planned_calls
from hisa.protocols import Emit, ModelRequest, ToolCall

__all__ = ["Candidate", "Candidates", "key_of"]

_ALONE = frozenset({"termination", "infeasible", "wait"})
"""Tools whose input does not make a different decision."""


def key_of(call: ToolCall) -> str:
    """Returns a text that is equal for replies that would do the same.

    They have the same tools and inputs, and the same words for their targets. White space and case
    of descriptions, and the spelling of actions, make no difference.
    """
    return json.dumps([_key(part) for part in call.sequence], ensure_ascii=False, default=str)


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
    """The replies to one question, with a method to sample more.

    Args:
        planner: asks, checks and corrects.
        question: the planner's request, at the temperature of samples.
        emit: gets a `Sampled` for each reply.
    """

    planner: GlobalPlanner
    question: ModelRequest
    emit: Emit
    usable: list[Candidate] = field(default_factory=list)
    errors: list[InvalidReply | ModelUnavailable] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Returns the number of replies so far, unusable ones included."""
        return len(self.usable) + len(self.errors)

    @property
    def distinct(self) -> list[Candidate]:
        """Returns the first candidate of each key, in the order they came."""
        first: dict[str, Candidate] = {}
        for candidate in self.usable:
            first.setdefault(candidate.key, candidate)
        return list(first.values())

    @property
    def favourite(self) -> Candidate:
        """Returns the first candidate of the most frequent key."""
        votes = Counter(candidate.key for candidate in self.usable)
        return max(self.distinct, key=lambda candidate: (votes[candidate.key], -candidate.n))

    def failure(self) -> InvalidReply | ModelUnavailable:
        """Returns the error of a step without a usable reply, an invalid reply if there is one."""
        invalid = (error for error in self.errors if isinstance(error, InvalidReply))
        return next(invalid, self.errors[0])

    async def sample(self, count: int) -> None:
        """Sample ``count`` more replies, all at once.

        An unusable or missing reply is kept as an error. An error that ends the run is raised after
        all have ended, so that each reply that was paid for is in the log.

        Raises:
            BudgetExceeded: from the model.
        """
        works = (self.planner.propose(self.question) for _ in range(count))
        replies = await asyncio.gather(*works, return_exceptions=True)
        fatal = []
        for n, reply in enumerate(replies, self.count + 1):
            if isinstance(reply, ToolCall):
                candidate = Candidate(n, reply)
                self.usable.append(candidate)
                self.emit(_event(candidate))
            elif isinstance(reply, InvalidReply | ModelUnavailable):
                self.errors.append(reply)
                self.emit(Sampled(n=n, error=str(reply)))
            else:
                fatal.append(reply)
        if fatal:
            raise next((error for error in fatal if isinstance(error, BudgetExceeded)), fatal[0])


def _event(candidate: Candidate) -> Sampled:
    call = candidate.call
    return Sampled(
        n=candidate.n,
        key=candidate.key,
        tool=call.tool,
        input=call.input,
        description=call.description,
        description_2=call.description_2,
        following=planned_calls(call.following),
    )
