"""Asks a model again after a reply that could not be used."""

from __future__ import annotations

from dataclasses import replace

from hisa.protocols import Message, ModelReply, ModelRequest, TextPart

__all__ = ["with_correction"]


def with_correction(
    request: ModelRequest,
    reply: ModelReply,
    correction: str,
    *,
    shown: int = 2000,
    reason: str = "",
) -> ModelRequest:
    """Returns the request extended by an unusable reply and its correction.

    Built from the first request each time, it stays bounded however often a reply is unusable.

    Args:
        request: the first request.
        reply: the unusable reply.
        correction: tells the model what is wrong.
        shown: most characters of the reply that are repeated.
        reason: why the reply was refused, for the log; empty: the correction.
    """
    turns = (
        Message("assistant", (TextPart(reply.text[:shown] or "(nothing)"),)),
        Message("user", (TextPart(correction),)),
    )
    return replace(
        request,
        messages=(*request.messages, *turns),
        corrects=reply.turn,
        reason=reason or correction,
    )
