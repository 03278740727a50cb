"""Records each request to a model as it is sent, before it leaves the machine."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from hisa.config import ModelSettings
from hisa.events import ModelAsked
from hisa.models.profile import Profile
from hisa.models.request_body import encode
from hisa.protocols import ModelRequest
from hisa.screen.observation import Screenshot

__all__ = ["Audit", "KeepPicture", "picture_hashes"]

_PLAIN_PROFILE = Profile(name="none", structured="json_schema")
_SETTINGS = ModelSettings(model="none")
_LONG = 200
"""Texts and values longer than this are replaced by their hash: later requests repeat them."""
_TURNS = ("messages", "input")
_ADDRESSES = ("url", "image_url")
"""Keys whose value may be a picture."""


KeepPicture = Callable[[Screenshot], Awaitable[str]]
"""Keeps a picture and returns its hash."""


async def picture_hashes(request: ModelRequest, keep: KeepPicture | None) -> tuple[str, ...]:
    """Returns the hashes of a request's pictures, in order, after keeping each with ``keep``."""
    pictures = request.pictures
    if keep is not None:
        return tuple([await keep(image) for image in pictures])
    if all(image.is_quick for image in pictures):  # as the log's own are
        return tuple(image.sha256 for image in pictures)
    return await asyncio.to_thread(lambda: tuple(image.sha256 for image in pictures))


class Audit:
    """Turns requests into events; long texts of earlier requests appear only as hashes."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def build_request_event(
        self,
        request: ModelRequest,
        body: Mapping[str, Any] | None,
        pictures: tuple[str, ...],
        **more: Any,
    ) -> ModelAsked:
        """Returns the event for a request that is about to leave.

        Args:
            request: the request.
            body: the body as sent; None: the model is not behind a network, and the body is encoded
                as it would be.
            pictures: hashes from `picture_hashes`.
            more: further fields of the event.
        """
        texts: dict[str, str] = {}
        if body is None:
            body = encode(request, _PLAIN_PROFILE, _SETTINGS)
            del body["model"]
        named = _Named(texts, iter(pictures))
        shown = {
            key: named.value(value) if key in _TURNS else named.field(value)
            for key, value in body.items()
        }
        new = {digest: text for digest, text in texts.items() if digest not in self._known}
        self._known |= new.keys()
        return ModelAsked(
            role=request.role,
            body=shown,
            texts=new,
            corrects=request.corrects,
            reason=request.reason,
            **more,
        )


class _Named:
    """Replaces pictures and long texts by hashes."""

    def __init__(self, texts: dict[str, str], pictures: Iterator[str]) -> None:
        self._texts, self._pictures = texts, pictures

    def value(self, value: Any, key: str = "") -> Any:
        """Returns a value of a message with its pictures and long texts replaced."""
        match value:
            case str() if key in _ADDRESSES and value.startswith("data:image/"):
                return {"$image": next(self._pictures, "")}
            case str() if len(value) > _LONG:
                return {"$text": self._store_text(value)}
            case Mapping():
                return {str(name): self.value(item, str(name)) for name, item in value.items()}
            case list() | tuple():
                return [self.value(item) for item in value]
        return value

    def field(self, value: Any) -> Any:
        """Returns a parameter of the body, replaced as a whole if it is long."""
        if isinstance(value, str | int | float | bool | None):
            return self.value(value)
        text = json.dumps(value, ensure_ascii=False, default=dict)
        return {"$json": self._store_text(text)} if len(text) > _LONG else json.loads(text)

    def _store_text(self, text: str) -> str:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        self._texts[digest] = text
        return digest
