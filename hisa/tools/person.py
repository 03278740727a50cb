"""Asks a person something in the middle of a run, or hands the machine over for a moment."""

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
    """What a person is asked. A model wrote it: it is shown escaped, and as the agent's words."""

    kind: Literal["question", "hand_over"]
    """question: an answer in words is wanted; hand_over: something is to be done at the machine."""
    text: str
    choices: tuple[str, ...] = ()
    """Answers to choose from; empty: any words."""
    default: str = ""
    """Taken where nobody answers in time; empty: the agent hears that nobody did."""
    seconds: float = 300.0
    """Time limit."""


Inquire = Callable[[Inquiry], Awaitable[str | None]]
"""Asks a person; returns the answer as it was typed, or None where none came. It ends by itself
after the inquiry's seconds."""


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """What came of an inquiry."""

    text: str
    by: Literal["person", "default", "nobody"]


class Person:
    """The person who can be asked in a run.

    Args:
        inquire: asks.
        emit: gets a `PersonAsked` for each inquiry.
    """

    def __init__(self, inquire: Inquire, *, emit: Emit) -> None:
        self._inquire = inquire
        self._emit = emit
        self._lock = asyncio.Lock()

    async def ask(self, inquiry: Inquiry) -> PersonAnswer:
        """The answer, or the default where none came in time; one inquiry at a time."""
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
