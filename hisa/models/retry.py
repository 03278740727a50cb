"""Failed tries: their kinds, and the wrapper that tries again."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime

from hisa.errors import ModelUnavailable
from hisa.events import ModelFailed
from hisa.events.run_events import FailureKind
from hisa.protocols import Emit, Model, ModelReply, ModelRequest
from hisa.text.redact import redact

__all__ = ["FailureKind", "RetryingModel", "TryFailed", "retry_after"]

_FINAL = ("refused", "too_long")
"""Failures that another try would only repeat."""

_CUT = ("", "length", "content_filter")
"""Ends of answers that are not the model's own: an empty one says nothing then."""
_BASE = 0.5
"""Seconds; a wait is drawn from below this times two for each try so far. Chosen by hand."""
_CAP = 30.0
"""The longest wait in seconds that HiSA chooses itself; chosen by hand."""
_RETRY_AFTER_CAP = 60.0
"""The longest wait in seconds that a server may ask for; chosen by hand."""


class TryFailed(ModelUnavailable):
    """One try of one call failed.

    Args:
        message: what the server or the network said.
        kind: "refused" and "too_long" are final; every other kind is worth another try.
        status: the HTTP status where there is one.
        retry_after: seconds the server asked to wait.
        fix: the command that helps.
    """

    def __init__(
        self,
        message: str,
        kind: FailureKind,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        fix: str = "",
    ) -> None:
        super().__init__(message, fix=fix)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


def retry_after(header: str | None, now: float) -> float | None:
    """Seconds to wait by a ``Retry-After`` header (seconds or an HTTP date), 0 to 60.

    None where the header is missing or is neither.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), _RETRY_AFTER_CAP) if math.isfinite(seconds) else None


def _nothing_said(reply: ModelReply) -> TryFailed:
    if reply.finish == "length":
        return TryFailed(
            "the answer reached its token limit before any text came",
            "cut_off",
            fix="allow longer answers: max_tokens under [models.planner] or the role's own section",
        )
    return TryFailed(f"an empty answer (finish {reply.finish!r})", "empty")


class RetryingModel:
    """Tries a failed or empty call again, after an exponential wait with full jitter.

    The wait before try n is drawn from 0 to min(30, 0.5 * 2**n) seconds, and is never shorter
    than the server's ``Retry-After`` (at most 60 s). Each failure is an event.

    Args:
        inner: raises `TryFailed`.
        emit: takes a `ModelFailed` for each failure.
        max_retries: tries after the first.
        sleep: waits; may raise to end the call.
        uniform: draws between two numbers.
        hide: removes secrets from what the server said.
    """

    def __init__(
        self,
        inner: Model,
        *,
        emit: Emit,
        max_retries: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
        hide: Callable[[str], str] = redact,
    ) -> None:
        self._inner = inner
        self._emit = emit
        self._max_retries = max_retries
        self._sleep = sleep
        self._uniform = uniform
        self._hide = hide

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._inner.name

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The first reply that holds text; an empty one too, where the request says it may be.

        Raises:
            ModelUnavailable: refused, or no answer after all tries.
        """
        tries = 0
        while True:
            try:
                reply = await self._inner.complete(request)
                if reply.text.strip() or (request.may_be_empty and reply.finish not in _CUT):
                    return reply
                failure = _nothing_said(reply)
            except TryFailed as error:
                failure = error
            tries += 1
            wait = self._wait(failure, tries)
            self._report(request, failure, wait)
            if wait is None:
                raise self._final(request, failure, tries) from failure
            await self._sleep(wait)

    def _wait(self, failure: TryFailed, tries: int) -> float | None:
        if failure.kind in _FINAL or tries > self._max_retries:
            return None
        # The exponent is bounded so that a large max_retries cannot overflow a float.
        jitter = self._uniform(0.0, min(_CAP, _BASE * 2.0 ** min(tries, 16)))
        return max(jitter, failure.retry_after or 0.0)

    def _report(self, request: ModelRequest, failure: TryFailed, wait: float | None) -> None:
        self._emit(
            ModelFailed(
                role=request.role,
                model=self.name,
                kind=failure.kind,
                status=failure.status,
                message=self._hide(str(failure)),
                retry_in=wait,
            )
        )

    def _final(self, request: ModelRequest, failure: TryFailed, tries: int) -> ModelUnavailable:
        said = self._hide(str(failure))
        after = "" if failure.kind in _FINAL else f" after {tries} tries; the last one"
        return ModelUnavailable(
            f"model {self.name!r} ({request.role}): no answer{after}: {said}", fix=failure.fix
        )
