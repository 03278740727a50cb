"""Asks a person to confirm an action."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from hisa.errors import ActionRefused
from hisa.events import Confirmed
from hisa.protocols import Emit

__all__ = ["ActionKind", "Answer", "Ask", "Question", "ask_person"]

ActionKind = Literal["acts", "commands", "files", "safety", "policy"]
"""What needs a confirmation: pointer and keyboard, commands, writing files, what a model's maker
wants a person to confirm, and what the policy asks about."""


@dataclass(frozen=True, slots=True)
class Question:
    """The action to confirm, in full and unchanged: hostile text, to be shown escaped."""

    action: ActionKind
    subject: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person says to a question."""

    kind: Literal["once", "kind", "stop", "refuse"]
    """once: do it; kind: do it, and ask no more for this kind of action in this run; stop: end the
    run; refuse: do not do it."""
    word: str = ""
    """What the person tells the agent with a refusal; empty: nothing but the refusal."""

    @property
    def allows(self) -> bool:
        """Whether the action may be done."""
        return self.kind in ("once", "kind")


Ask = Callable[[Question], Awaitable[Answer]]
"""Asks a person."""


async def ask_person(ask: Ask, question: Question, *, emit: Emit) -> Answer:
    """Asks a person and returns the answer if it allows the action.

    Args:
        ask: puts the question to the person and waits for the answer.
        question: the action to confirm.
        emit: gets a `Confirmed` event with the answer.

    Raises:
        ActionRefused: the person said no.
        asyncio.CancelledError: the person stopped the run.
    """
    subject = question.subject
    answer = await ask(question)
    emit(Confirmed(what=subject, allowed=answer.allows, answer=answer.kind, word=answer.word))
    if answer.kind == "stop":
        raise asyncio.CancelledError("a person stopped the run")
    if not answer.allows:
        comment = f" and says “{answer.word}”" if answer.word else ""
        raise ActionRefused(f"a person refused this{comment}: {subject}")
    return answer
