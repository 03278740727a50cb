"""Questions of a run that are answered at its socket, as nobody is at its terminal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from hisa.environments.confirmation import Answer, Question
from hisa.plugins.live.watched.gate import Gate, Refused
from hisa.tools.person import Inquiry

__all__ = ["Questions"]

T = TypeVar("T")
R = TypeVar("R")


class Questions:
    """Asks whoever watches; while a question waits, the agent does nothing, as if parked."""

    def __init__(self, gate: Gate) -> None:
        self._gate, self._count = gate, 0
        self._waiting: dict[str, tuple[dict[str, Any], asyncio.Future[Any]]] = {}

    async def ask(self, question: Question) -> Answer:
        """Waits for and returns the answer to an approval; see `hisa.environments.confirmation`."""
        answer: Answer = await self._answer(question.action, question.subject)
        return answer

    async def inquire(self, inquiry: Inquiry) -> str | None:
        """Returns the answer to a question; None if none came in time. See `hisa.tools.person`."""
        answer: str | None = await self._answer(inquiry.kind, inquiry.text, inquiry)
        return answer

    def wrap_asking(self, ask: Callable[[T], Awaitable[R]]) -> Callable[[T], Awaitable[R]]:
        """Returns ``ask`` so that the machine can be taken over while it waits.

        It returns only after the machine was given back.
        """

        async def ask_and_park(question: T) -> R:
            with self._gate.idle():
                answer = await ask(question)
            await self._gate.park()
            return answer

        return ask_and_park

    @property
    def pending(self) -> dict[str, Any] | None:
        """The question that has waited longest, as the socket sends it."""
        return next((record for record, _ in self._waiting.values()), None)

    def answer(self, question: str, kind: str, text: str) -> None:
        """Answer a question.

        Args:
            question: its id, as in `pending`.
            kind: for an approval: "once", "kind", "stop" or "refuse"; else empty.
            text: the answer to a question, or the person's message with a refusal.

        Raises:
            Refused: the question does not wait for an answer, or this is not an answer to it.
        """
        record, answer = self._waiting.get(question, ({}, None))
        if answer is None or answer.done():
            raise Refused(f"question {question!r} is not waiting for an answer")
        approval, answer_text = record["deadline"] is None, text or record["default"]
        if approval != bool(kind) or (record["kind"] == "question" and not answer_text):
            expected = "a kind: once, kind, stop or refuse" if approval else "a text alone"
            raise Refused(f"answer this with {expected}")
        if record["choices"] and answer_text not in record["choices"]:
            raise Refused(f"the answers to choose from are: {', '.join(record['choices'])}")
        word: Any = kind
        answer.set_result(Answer(word, text * (kind == "refuse")) if approval else answer_text)

    def answer_hand_over(self) -> None:
        """Answer a hand-over: the person had the machine, and gave it back."""
        for record, answer in self._waiting.values():
            if record["kind"] == "hand_over" and not answer.done():
                answer.set_result("")

    async def _answer(self, kind: str, text: str, more: Inquiry | None = None) -> Any:
        self._count += 1
        name, answer = f"q{self._count}", asyncio.get_running_loop().create_future()
        record = {
            "id": name,
            "kind": kind,
            "text": text[:20_000],
            "default": more.default if more else "",
            "choices": list(more.choices) if more else [],
            "deadline": time.time() + more.seconds if more else None,
        }
        self._waiting[name] = record, answer
        try:
            await asyncio.wait([answer], timeout=more.seconds if more else None)
            if self._gate.lease is not None and kind == "hand_over":
                await asyncio.wait([answer])  # the person is at it
        finally:
            del self._waiting[name]
        return answer.result() if answer.done() else None
