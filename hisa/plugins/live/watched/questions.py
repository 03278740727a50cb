"""Questions of a run that are answered from outside, where nobody sits at its terminal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hisa.environments.confirm import Answer, Question
from hisa.plugins.live.watched.gate import Gate, Refused
from hisa.tools.person import Inquiry

__all__ = ["ANSWERS", "Questions"]

T = TypeVar("T")
R = TypeVar("R")
ANSWERS = ("once", "kind", "stop", "refuse")
_TEXT = 20_000
"""Characters of a question that are sent."""


@dataclass
class _Pending:
    """A question that waits."""

    id: str
    kind: str
    text: str
    choices: tuple[str, ...] = ()
    default: str = ""
    deadline: float | None = None
    answer: asyncio.Future[Answer | str] = field(default_factory=lambda: asyncio.Future())

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id, "kind": self.kind, "text": self.text[:_TEXT],
            "choices": list(self.choices), "default": self.default, "deadline": self.deadline,
        }  # fmt: skip


class Questions:
    """Asks whoever watches; while a question waits the agent does nothing, as when parked."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._count = 0
        self._pending: dict[str, _Pending] = {}

    async def ask(self, question: Question) -> Answer:
        """The answer to an approval; waits until there is one. See `hisa.environments.confirm`."""
        answer = await self._answered(self._new(question.action, question.what), None)
        return answer if isinstance(answer, Answer) else Answer("refuse")

    async def inquire(self, inquiry: Inquiry) -> str | None:
        """The answer to a question; None where none came in time. See `hisa.tools.person`."""
        pending = self._new(inquiry.kind, inquiry.text)
        pending.choices, pending.default = inquiry.choices, inquiry.default
        pending.deadline = time.time() + inquiry.seconds
        answer = await self._answered(pending, inquiry.seconds)
        return answer if isinstance(answer, str) else None

    def watched(self, ask: Callable[[T], Awaitable[R]]) -> Callable[[T], Awaitable[R]]:
        """Somebody else's asking, during which the machine can be taken over as well."""

        async def sitting(question: T) -> R:
            with self._gate.sitting():
                answer = await ask(question)
            await self._gate.park()
            return answer

        return sitting

    @property
    def pending(self) -> dict[str, Any] | None:
        """The question that has waited longest, as the socket tells it."""
        return next((each.as_dict() for each in self._pending.values()), None)

    def answer(self, question: str, kind: str, text: str) -> None:
        """Answer a question.

        Raises:
            Refused: it does not wait, or this is no answer to it.
        """
        pending = self._pending.get(question)
        if pending is None or pending.answer.done():
            raise Refused(f"question {question!r} does not wait for an answer")
        if pending.deadline is None:
            if kind not in ANSWERS:
                raise Refused(f"an approval is answered by one of {', '.join(ANSWERS)}")
            pending.answer.set_result(Answer(kind, text if kind == "refuse" else ""))  # type: ignore[arg-type]
            return
        if kind:
            raise Refused("this question is answered by a text")
        if not text and pending.kind == "question":
            text = pending.default
            if not text:
                raise Refused("the answer is empty, and there is no default")
        if pending.choices and text not in pending.choices:
            raise Refused(f"the answers to choose from are: {', '.join(pending.choices)}")
        pending.answer.set_result(text)

    def given_back(self) -> None:
        """Answer a hand-over: the person had the machine, and gave it back."""
        for pending in self._pending.values():
            if pending.kind == "hand_over" and not pending.answer.done():
                pending.answer.set_result("")

    def _new(self, kind: str, text: str) -> _Pending:
        self._count += 1
        return _Pending(f"q{self._count}", kind, text)

    async def _answered(self, pending: _Pending, seconds: float | None) -> Answer | str | None:
        self._pending[pending.id] = pending
        try:
            with self._gate.sitting():
                await asyncio.wait([pending.answer], timeout=seconds)
            await self._gate.park()  # whoever took over may still be at it
        finally:
            del self._pending[pending.id]
        return pending.answer.result() if pending.answer.done() else None
