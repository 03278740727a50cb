"""The last net: no value of a secret goes to a model, and none that it says is passed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hisa.protocols import Message, Model, ModelReply, ModelRequest, TextPart
from hisa.text.redact.named_secrets import Scrubber

__all__ = ["SecretFreeModel"]


class SecretFreeModel:
    """A model that reads and says the names of secrets, and never their values.

    Args:
        inner: any model.
        scrubber: knows the values.
        note: called where a value was taken out; it came there by a way that should not be.
    """

    def __init__(
        self, inner: Model, scrubber: Scrubber, *, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self.name, self._inner = inner.name, inner
        self._scrub = scrubber
        self._note = note

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The inner model's reply, without values."""
        messages = tuple(map(self._message, request.messages))
        if messages != request.messages:
            self._note(f"a value was taken out of a request to the {request.role} model")
            request = replace(request, messages=messages)
        reply = await self._inner.complete(request)
        text = self._scrub.text(reply.text)
        if text == reply.text:
            return reply
        self._note(f"a value was taken out of a reply of the {request.role} model")
        return replace(reply, text=text)

    def _message(self, message: Message) -> Message:
        parts = tuple(
            TextPart(self._scrub.text(part.text)) if isinstance(part, TextPart) else part
            for part in message.parts
        )
        return message if parts == message.parts else replace(message, parts=parts)
