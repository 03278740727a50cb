"""Failed tries: their kinds, which of them are worth another one, and after how long."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from hisa.errors import ModelUnavailable
from hisa.events.run_events import FailureKind
from hisa.protocols import ModelReply

__all__ = [
    "CUT_OFF",
    "FINAL",
    "FailureKind",
    "TryFailed",
    "empty_reply_failure",
    "retry_after",
    "unavailable",
    "wait_before",
]

FINAL = ("refused", "too_long")
"""Failures that another try would only repeat."""

CUT_OFF = ("", "length", "content_filter")
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
        words: the server's own.
        began: whether an answer was on its way; such a try is repeated once, since the server
            works and would begin anew.
    """

    def __init__(
        self,
        message: str,
        kind: FailureKind,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        fix: str = "",
        words: str = "",
        began: bool = False,
    ) -> None:
        super().__init__(message, fix=fix)
        self.kind = kind
        self.status = status
        self.words = words
        self.retry_after = retry_after
        self.began = began


def retry_after(header: str | None) -> float | None:
    """Seconds to wait by a ``Retry-After`` header (seconds or an HTTP date), 0 to 60.

    None where the header is missing or is neither.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), _RETRY_AFTER_CAP) if math.isfinite(seconds) else None


def empty_reply_failure(reply: ModelReply) -> TryFailed:
    """The failure that an empty reply is."""
    fix = (
        "allow longer answers (max_tokens under [models.planner] or the role's own section), or "
        "let it think less: effort"
    )
    if reply.finish == "length":
        message = "the answer reached its token limit before any text came"
        return TryFailed(message, "cut_off", fix=fix)
    return TryFailed(f"an empty answer (finish {reply.finish!r})", "empty", fix=fix)


def wait_before(
    failure: TryFailed, tries: int, max_retries: int, uniform: Callable[[float, float], float]
) -> float | None:
    """Returns the seconds before the next try; None where there is none.

    Drawn from 0 to min(30, 0.5 * 2**tries), and never shorter than the server's ``Retry-After``.
    """
    if failure.kind in FINAL or tries > max_retries:
        return None
    # The exponent is bounded so that a large max_retries cannot overflow a float.
    jitter = uniform(0.0, min(_CAP, _BASE * 2.0 ** min(tries, 16)))
    return max(jitter, failure.retry_after or 0.0)


def unavailable(
    model: str, role: str, failure: TryFailed, message: str, tries: int
) -> ModelUnavailable:
    """The error for a call that is given up."""
    after = "" if failure.kind in FINAL else f" after {tries} tries; the last one"
    return ModelUnavailable(
        f"model {model!r} ({role}): no answer{after}: {message}", fix=failure.fix
    )
