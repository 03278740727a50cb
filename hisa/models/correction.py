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
    """Returns the request with an unusable reply, cut to ``shown`` characters, and its correction.

    The log then has the reply's turn as refused for ``reason``, which is the correction itself
    where it is empty.

    Built on the first request each time, it stays bounded however often a reply is unusable.
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
