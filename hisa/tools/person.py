"""Asks a person something during a run, or hands the machine over for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from hisa.events import PersonAsked
from hisa.protocols import Emit

__all__ = ["Inquire", "Inquiry", "Person", "PersonAnswer"]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question to a person. A model wrote it: it is shown escaped, and as the agent's words."""

    kind: Literal["question", "hand_over"]
    """question: the agent wants an answer; hand_over: the person should do something there."""
    text: str
    choices: tuple[str, ...] = ()
    """Answers to choose from; empty: any words."""
    default: str = ""
    """The answer if nobody answers in time; empty: the agent is told that nobody did."""
    seconds: float = 300.0
    """Time limit."""


Inquire = Callable[[Inquiry], Awaitable[str | None]]
"""Asks a person; returns the answer as typed, or None if there was none. It ends by itself after
the inquiry's seconds."""


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """The answer to an inquiry, and whose it is."""

    text: str
    by: Literal["person", "default", "nobody"]


class Person:
    """The person who can be asked in a run.

    Args:
        inquire: asks the person.
        emit: takes a `PersonAsked` for each inquiry.
    """

    def __init__(self, inquire: Inquire, *, emit: Emit) -> None:
        self._inquire = inquire
        self._emit = emit
        self._lock = asyncio.Lock()

    async def ask(self, inquiry: Inquiry) -> PersonAnswer:
        """Returns the answer, or the default if none came in time; asks one inquiry at a time."""
        started = time.monotonic()
        async with self._lock:
            text = await self._inquire(inquiry)
        if text is not None:
            answer = PersonAnswer(text.strip(), "person")
        else:
            answer = PersonAnswer(inquiry.default, "default" if inquiry.default else "nobody")
        self._emit(
            PersonAsked(
                kind=inquiry.kind,
                text=inquiry.text,
                choices=inquiry.choices,
                answer=answer.text,
                by=answer.by,
                seconds=time.monotonic() - started,
            )
        )
        return answer
