"""What leaves the machine is written down first: every request."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable

from hisa.events import LoggedMessage, ModelAsked
from hisa.protocols import Emit, ImagePart, Message, Model, ModelReply, ModelRequest, TextPart

__all__ = ["AuditedModel"]


class AuditedModel:
    """Emits a `ModelAsked` before each request leaves.

    A turn that was written down before (the system prompt, above all) is named by its hash only.

    Args:
        inner: any model.
        emit: takes the events.
        effort: tells how hard a request asks the model to think.
    """

    def __init__(
        self, inner: Model, *, emit: Emit, effort: Callable[[ModelRequest], str] = lambda _: ""
    ) -> None:
        self.name, self._inner = inner.name, inner
        self._emit = emit
        self._effort = effort
        self._known: set[str] = set()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The inner model's reply."""
        said = [await self._said(message) for message in request.messages]
        if request.tools:
            said.append(self._logged("tools", json.dumps(request.tools, default=dict), ()))
        effort = self._effort(request)
        asked = ModelAsked(role=request.role, model=self.name, messages=tuple(said), effort=effort)
        self._emit(asked)
        return await self._inner.complete(request)

    async def _said(self, message: Message) -> LoggedMessage:
        text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
        pictures = [part.image for part in message.parts if isinstance(part, ImagePart)]
        if all(image.is_quick for image in pictures):  # as the log's own are: no thread for that
            images = tuple(image.sha256 for image in pictures)
        else:
            images = await asyncio.to_thread(lambda: tuple(image.sha256 for image in pictures))
        return self._logged(message.role, text, images)

    def _logged(self, role: str, text: str, images: tuple[str, ...]) -> LoggedMessage:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        new = digest not in self._known
        self._known.add(digest)
        return LoggedMessage(role=role, sha256=digest, text=text if new else None, images=images)
