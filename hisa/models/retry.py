"""Failed tries: their kinds, which are retried, and after how long."""

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
"""Finish reasons of replies that were cut off: an empty reply then means nothing."""
_BASE = 0.5
"""Seconds; the upper end of a wait is this, doubled for each try so far. Chosen by hand."""
_CAP = 30.0
"""The longest wait in seconds that HiSA chooses itself; chosen by hand."""
_RETRY_AFTER_CAP = 60.0
"""The longest wait in seconds that a server may ask for; chosen by hand."""


class TryFailed(ModelUnavailable):
    """One try of one call failed.

    Args:
        message: the error of the server or the network.
        kind: "refused" and "too_long" are final; every other kind is retried.
        status: the HTTP status, if there is one.
        retry_after: seconds that the server asked to wait.
        fix: the command that helps.
        words: the server's own message.
        began: whether a reply had begun; such a try is repeated only once, since the server works
            and would start over.
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
    """Returns the seconds of a ``Retry-After`` header (seconds or an HTTP date), 0 to 60.

    None if the header is missing or is neither.
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
    """Returns the failure for an empty reply."""
    fix = (
        "allow longer replies (max_tokens in [models.planner] or the role's own section), or "
        "less thinking (effort)"
    )
    if reply.finish == "length":
        message = "the reply reached its token limit before it had any text"
        return TryFailed(message, "cut_off", fix=fix)
    return TryFailed(f"an empty reply (finish {reply.finish!r})", "empty", fix=fix)


def wait_before(
    failure: TryFailed, tries: int, max_retries: int, uniform: Callable[[float, float], float]
) -> float | None:
    """Returns the seconds to wait before the next try; None if there is no next try.

    The wait is drawn from 0 to min(30, 0.5 * 2**tries), and is at least the server's
    ``Retry-After``.

    Args:
        failure: the last failure.
        tries: tries so far.
        max_retries: most tries after the first.
        uniform: draws a number between two, as `random.uniform`.
    """
    if failure.kind in FINAL or tries > max_retries:
        return None
    # The exponent is bounded so that a large max_retries cannot overflow a float.
    jitter = uniform(0.0, min(_CAP, _BASE * 2.0 ** min(tries, 16)))
    return max(jitter, failure.retry_after or 0.0)


def unavailable(
    model: str, role: str, failure: TryFailed, message: str, tries: int
) -> ModelUnavailable:
    """Returns the error for a call that is given up.

    Args:
        model: name of the model.
        role: the role that asked.
        failure: the last failure.
        message: its message, without secrets.
        tries: tries in all.
    """
    after = "" if failure.kind in FINAL else f" after {tries} tries; the last one"
    return ModelUnavailable(
        f"model {model!r} ({role}): no answer{after}: {message}", fix=failure.fix
    )
