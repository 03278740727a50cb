"""What leaves the machine is written down first: every request."""

from __future__ import annotations

import asyncio
import hashlib
import json

from hisa.events import LoggedMessage, ModelAsked
from hisa.protocols import ImagePart, Message, ModelRequest, TextPart

__all__ = ["Audit"]


class Audit:
    """Turns requests into events; a turn that was in an earlier one is named by its hash only."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    async def asked(self, request: ModelRequest, model: str, effort: str) -> ModelAsked:
        """Returns the event for a request that is about to leave.

        Args:
            request: what is asked.
            model: the name that is logged.
            effort: how hard it asks the model to think.
        """
        messages = [await self._message(message) for message in request.messages]
        if request.tools:
            messages.append(self._logged("tools", json.dumps(request.tools, default=dict), ()))
        return ModelAsked(role=request.role, model=model, messages=tuple(messages), effort=effort)

    async def _message(self, message: Message) -> LoggedMessage:
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
