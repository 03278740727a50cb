"""Record a model's answers to a file and replay them, each request checked on the way.

One JSON object a line: ``{"v": 1, "request": {…}, "reply": {…}}``. Pictures stand as the SHA-256 of
their PNG; secrets are redacted in both directions.
"""

from __future__ import annotations

import asyncio
import difflib
import json
from pathlib import Path
from typing import Any

from hisa.errors import DeveloperError, ScriptExhausted
from hisa.protocols import Model, ModelReply, ModelRequest, Part, TextPart, Usage
from hisa.text.redact import redact

__all__ = ["CassetteMismatch", "RecordingModel", "ReplayModel"]

_VERSION = 1


class CassetteMismatch(DeveloperError):
    """The request is not the one that was recorded."""


def _part(part: Part) -> dict[str, str]:
    if isinstance(part, TextPart):
        return {"text": redact(part.text)}
    return {"image": part.image.sha256}


def _request(request: ModelRequest) -> dict[str, Any]:
    """Returns a request's role, messages and schema for comparison; the limits may differ."""
    messages = [
        {"role": message.role, "parts": [_part(part) for part in message.parts]}
        for message in request.messages
    ]
    schema = None if request.schema is None else json.loads(json.dumps(dict(request.schema)))
    asked = {"role": request.role, "messages": messages, "schema": schema}
    return {**asked, "tools": json.loads(json.dumps(request.tools))} if request.tools else asked


def _difference(recorded: dict[str, Any], asked: dict[str, Any]) -> str:
    """Returns how the requests differ, line by line."""
    old, new = (
        json.dumps(request, indent=1, ensure_ascii=False).replace("\\n", "\n").splitlines()
        for request in (recorded, asked)
    )
    return "\n".join(difflib.unified_diff(old, new, "recorded", "asked", lineterm="", n=1))


class RecordingModel:
    """Answers as the inner model does and writes each call down; errors are not recorded.

    Args:
        inner: any model.
        path: the cassette; an older one is replaced.
    """

    def __init__(self, inner: Model, path: Path) -> None:
        self._inner = inner
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
        path.chmod(0o600)

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._inner.name

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The inner model's reply."""
        reply = await self._inner.complete(request)
        await asyncio.to_thread(self._write, request, reply)
        return reply

    def _write(self, request: ModelRequest, reply: ModelReply) -> None:
        entry = {
            "v": _VERSION,
            "request": _request(request),
            "reply": {
                "text": redact(reply.text),
                "tokens_in": reply.usage.tokens_in,
                "tokens_out": reply.usage.tokens_out,
                "cached_in": reply.usage.cached_in,
                "reasoning_out": reply.usage.reasoning_out,
                "finish": reply.finish,
                "model": reply.model,
            },
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


class ReplayModel:
    """Gives recorded replies in order, to the requests they were recorded for.

    Args:
        path: the cassette.
        name: as printed.

    Raises:
        DeveloperError: the file is not a cassette.
    """

    def __init__(self, path: Path, name: str = "replay") -> None:
        self.name = name
        self._path = path
        self._entries = _read(path)
        self._calls = 0

    @property
    def left(self) -> int:
        """Recorded calls that were not asked for yet."""
        return len(self._entries) - self._calls

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The next recorded reply.

        Raises:
            CassetteMismatch: another request than the recorded one; shows the first difference.
            ScriptExhausted: every recorded reply was given.
        """
        if not self.left:
            raise ScriptExhausted(
                f"{self._path} holds {len(self._entries)} calls; one more was made "
                f"(role {request.role!r}, step {request.step})"
            )
        entry = self._entries[self._calls]
        asked = await asyncio.to_thread(_request, request)
        if asked != entry["request"]:
            difference = _difference(entry["request"], asked)
            raise CassetteMismatch(f"{self._path}, call {self._calls + 1}:\n{difference}")
        self._calls += 1
        return _reply(entry["reply"])


def _reply(fields: dict[str, Any]) -> ModelReply:
    parts = fields["cached_in"], fields["reasoning_out"]
    usage = Usage(fields["tokens_in"], fields["tokens_out"], *parts)
    return ModelReply(fields["text"], usage, fields["finish"], fields["model"])


def _read(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line:
            continue
        try:
            entry = json.loads(line)
            _reply(entry["reply"])
            known = entry["v"] == _VERSION and isinstance(entry["request"], dict)
        except (ValueError, KeyError, TypeError) as error:
            raise DeveloperError(f"{path}, line {number}: not a recorded call: {error}") from error
        if not known:
            raise DeveloperError(f"{path}, line {number}: version {entry['v']!r} is not known")
        entries.append(entry)
    return entries
