"""A model as the parts of a run call it: all that happens between a request and its reply."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any

from hisa.config import ModelSettings
from hisa.events import ModelCalled, ModelFailed, Noted
from hisa.models.audit import Audit, KeepPicture, picture_hashes
from hisa.models.budget import REFERENCE_PRICE, Budget
from hisa.models.profiles import Profile
from hisa.models.retry import CUT_OFF, TryFailed, empty_reply_failure, unavailable, wait_before
from hisa.models.spending import Ledger
from hisa.models.tokens import estimate_input
from hisa.protocols import (
    Emit,
    Message,
    Model,
    ModelReply,
    ModelRequest,
    Progress,
    TextPart,
    TurnTokens,
)
from hisa.text.redact import redact
from hisa.text.redact.named_secrets import Scrubber
from hisa.text.thinking import without_thinking

__all__ = ["CallContext", "KeepTokens", "RoleModel"]

KeepTokens = Callable[[str, TurnTokens, str], Awaitable[str]]
"""Takes a turn's name, its tokens and their whole text; returns the file's name, or an empty text
if the text contains a secret."""


def new_turn() -> str:
    """Returns a new name for a call: ten hexadecimal digits."""
    return token_hex(5)


@dataclass(frozen=True)
class CallContext:
    """The context that a run's calls share; the defaults are for a model outside a run."""

    emit: Emit = lambda _: None
    """Takes `ModelAsked`, `ModelCalled`, `ModelFailed`, and a `Noted` for each removed secret."""
    budget: Budget = field(default_factory=Budget)
    """Checked before every try and every wait."""
    ledger: Ledger = field(default_factory=Ledger)
    """What was spent so far; each reply is added to it, then emitted."""
    step: Callable[[], int] | None = None
    """Returns the number of the current step; None: the request has it."""
    secrets: Scrubber | None = None
    """Removes values that no model may read or pass on."""
    progress: Progress | None = None
    """Called as a reply arrives; nothing of it is logged."""
    keep_picture: KeepPicture | None = None
    """Stores the pictures that are sent; None: only their hashes are logged."""
    keep_tokens: KeepTokens | None = None
    """Stores the tokens of a turn beside the log; None: they are not stored."""
    hide: Callable[[str], str] = redact
    """Removes keys from the messages of servers."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits before another try; may raise to end the call."""
    uniform: Callable[[float, float], float] = random.uniform
    clock: Callable[[], float] = time.monotonic


class RoleModel:
    """Wraps a client with everything that is the same for all models.

    A request gets its step number and loses its secrets. Each try is checked against the budget,
    logged before it leaves, and its reply metered even if it is useless. A failed or empty try is
    an event, and is repeated after a wait.

    Args:
        client: makes one try; raises `TryFailed`.
        context: the run's context.
        settings: the role's settings: retries, effort.
        profile: the model's profile: price, picture tokens, effort.
    """

    def __init__(
        self,
        client: Model,
        context: CallContext,
        *,
        profile: Profile,
        settings: ModelSettings | None = None,
    ) -> None:
        self.name, self._client, self._context = client.name, client, context
        self._profile = profile
        self._settings = settings or ModelSettings()
        self._effort = self._settings.effort
        self._audit = Audit()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Returns the first reply with text, or an empty one if the request allows it.

        Raises:
            ModelUnavailable: the server refused, or there was no reply after all tries.
            BudgetExceeded: a limit was reached before sending, or the deadline passed while
                waiting for the reply.
        """
        request = self._without_secrets(request)
        if self._context.step is not None:
            request = replace(request, step=self._context.step())
        if self._context.progress is not None:
            request = replace(request, progress=self._context.progress)
        reply = await self._answer(request)
        text = self._scrub_text(reply.text, f"a reply of the {request.role} model")
        text = without_thinking(text) or text  # only thinking: the caller says what is wrong
        return reply if text == reply.text else replace(reply, text=text)

    def _without_secrets(self, request: ModelRequest) -> ModelRequest:
        if self._context.secrets is None:
            return request
        scrub = self._context.secrets.text
        messages = tuple(_map_texts(message, scrub) for message in request.messages)
        if messages == request.messages:
            return request
        self._note(f"a request to the {request.role} model")
        return replace(request, messages=messages)

    def _scrub_text(self, text: str, subject: str) -> str:
        secrets = self._context.secrets
        scrubbed = text if secrets is None else secrets.text(text)
        if scrubbed != text:
            self._note(subject)
        return scrubbed

    def _note(self, subject: str) -> None:
        """Note that a secret's value reached a text where it should not be."""
        self._context.emit(Noted(where="secrets", text=f"a value was removed from {subject}"))

    async def _answer(self, request: ModelRequest) -> ModelReply:
        """Try until there is a reply, or no further try can help."""
        context, tries, cut_short = self._context, 0, 0
        while True:
            turn = new_turn()
            try:
                reply = await self._within_budget(request, turn, tries + 1)
                complete = request.may_be_empty and reply.finish not in CUT_OFF
                if complete or reply.text.strip():
                    return reply
                failure = empty_reply_failure(reply)
            except TryFailed as error:
                failure = error
            tries += 1
            cut_short += failure.began
            most = self._settings.max_retries if cut_short < 2 else 0
            wait = wait_before(failure, tries, most, context.uniform)
            message = context.hide(str(failure))
            context.emit(
                ModelFailed(
                    role=request.role,
                    model=self.name,
                    turn=turn,
                    kind=failure.kind,
                    status=failure.status,
                    message=message,
                    retry_in=wait,
                )
            )
            if wait is None:
                raise unavailable(self.name, request.role, failure, message, tries) from failure
            context.budget.check_wait(wait)
            await context.sleep(wait)

    async def _within_budget(self, request: ModelRequest, turn: str, attempt: int) -> ModelReply:
        """Make one try if the budget allows it, and wait no longer than the deadline."""
        budget, profile = self._context.budget, self._profile
        tokens = estimate_input(request, image_tokens=profile.image_tokens)
        price = profile.price or REFERENCE_PRICE
        usd = 0.0 if budget.usd is None else price.usd(tokens, 0)
        budget.admit(turn, self._context.ledger, usd=usd, tokens=tokens)
        deadline = asyncio.timeout(budget.seconds_left)
        try:
            async with deadline:
                return await self._call_metered(request, turn, attempt)
        except TimeoutError:
            if deadline.expired():
                raise budget.out_of_time() from None
            raise
        finally:
            del budget.in_flight[turn]

    async def _call_metered(self, request: ModelRequest, turn: str, attempt: int) -> ModelReply:
        """Make one try, logged before it leaves and once it is answered."""
        emit, clock = self._context.emit, self._context.clock
        on_wire = getattr(self._client, "reports_body", False)
        keep = self._context.keep_picture if on_wire else None  # else no picture is sent
        pictures = await picture_hashes(request, keep)

        def log_request(body: Mapping[str, Any] | None, api: str) -> None:
            emit(
                self._audit.build_request_event(
                    request,
                    body,
                    pictures,
                    turn=turn,
                    attempt=attempt,
                    model=self.name,
                    api=api,
                    effort=self._effort,
                )
            )

        if not on_wire:
            log_request(None, "")
        started = clock()
        reply = await self._client.complete(replace(request, sent=log_request))
        token_record = ""
        if reply.tokens is not None and self._context.keep_tokens is not None:
            text = f"{request.text}\n{reply.text}"
            token_record = await self._context.keep_tokens(turn, reply.tokens, text)
        called = self._build_called_event(
            request, reply, turn=turn, tokens=token_record, seconds=clock() - started
        )
        self._context.ledger.add(called)
        emit(called)
        return replace(reply, turn=turn)

    def _build_called_event(
        self, request: ModelRequest, reply: ModelReply, **more: Any
    ) -> ModelCalled:
        """Returns the event of an answered try."""
        usage, price = reply.usage, self._profile.price
        usd = None
        if price is not None:
            usd = price.usd(usage.tokens_in, usage.tokens_out, usage.cached_in)
        return ModelCalled(
            role=request.role,
            model=self.name,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            images=request.images,
            usd=usd,
            finish=reply.finish,
            reply=reply.text,
            served=reply.model,
            policy=reply.policy,
            cached_in=usage.cached_in,
            reasoning_out=usage.reasoning_out,
            effort=self._effort,
            **more,
        )


def _map_texts(message: Message, change: Callable[[str], str]) -> Message:
    parts = tuple(
        TextPart(change(part.text)) if isinstance(part, TextPart) else part
        for part in message.parts
    )
    return message if parts == message.parts else replace(message, parts=parts)
