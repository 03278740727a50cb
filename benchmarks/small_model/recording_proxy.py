"""A proxy before the model's server: it fixes how every arm asks, and counts what each does.

It sets the model, temperature, reply limit and prompt cache of each request, and writes a line for
each to the trace of the episode in hand: what was asked and answered, tokens, seconds, and the
seconds to the first token. Agents differ in what they ask; nothing else is theirs.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Asking", "RecordingProxy", "append_line"]

_BODY_LIMIT = 8_000_000
"""Bytes of a request or reply; a context of 32,000 tokens has about 150,000."""
_SHOWN_LIMIT = 40_000
"""Characters of a request that are written down: more than a context of 8,192 tokens holds."""
_SILENCE = 900.0
"""Seconds without a byte from the server; an episode's own limit is below it."""
ANSWER_TEXT = {
    "type": "string",
    "pattern": '^<think>\\n[^<"\\\\]{1,400}\\n</think>\\n\\n<action>\\n'
    '([a-z_]{4,20}\\([^<"\\\\\\n]{0,200}\\)\\n){1,3}</action>$',
}
"""GenericAgent's answer, which is text in tags, as a JSON schema. Quotes and backslashes are left
out, since llama.cpp does not escape what a pattern makes and then refuses its own answer."""


@dataclass(frozen=True)
class Asking:
    """What is the same in every request of an episode."""

    model: str
    reply_tokens: int = 512
    cache: bool = True
    schema: dict[str, Any] | None = None
    """Put into requests of an agent that sends none; its text answer is taken out of the JSON."""


def append_line(path: Path, **fields: Any) -> None:
    """Append one JSON object; whole lines only, whoever else appends to the file."""
    line = json.dumps(fields, ensure_ascii=True, default=str) + "\n"
    with path.open("ab", buffering=0) as file:
        file.write(line.encode())


@dataclass
class _Reply:
    """What is read off a reply, streamed or whole."""

    text: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, Any] = field(default_factory=dict)
    finish: str = ""

    def take(self, part: Any) -> None:
        if not isinstance(part, dict):
            return
        for name in ("usage", "timings"):
            if isinstance(part.get(name), dict):
                setattr(self, name, part[name])
        for choice in part.get("choices") or ():
            message = choice.get("delta") or choice.get("message") or {}
            self.text += str(message.get("content") or "")
            self.finish = str(choice.get("finish_reason") or self.finish)


class RecordingProxy:
    """Serves on loopback while it is open; `begin` and `end` enclose an episode."""

    def __init__(self, base_url: str, key: str = "x") -> None:
        self._server = urlsplit(base_url.rstrip("/"))
        self._asking: Asking | None = None
        self._trace = Path()
        self._open: set[http.client.HTTPConnection] = set()
        self._key = key
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                with suppress(OSError, http.client.HTTPException):  # one side is gone
                    proxy._pass(self)

            do_GET = do_POST

            def log_message(self, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True

    def __enter__(self) -> RecordingProxy:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The address for agents."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def begin(self, trace: Path, asking: Asking) -> None:
        """Take requests, and write them to the trace."""
        self._trace, self._asking = trace, asking

    def end(self) -> None:
        """Take no more; a request that is under way is given up, so that the server stops too."""
        self._asking = None
        for connection in tuple(self._open):
            with suppress(OSError):
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)

    # ------------------------------------------------------------------- one request

    def _pass(self, handler: BaseHTTPRequestHandler) -> None:
        asking, trace = self._asking, self._trace
        size = int(handler.headers.get("Content-Length") or 0)
        if asking is None or not 0 <= size <= _BODY_LIMIT:
            handler.send_error(503, "no episode is under way, or the request is too large")
            return
        given = json.loads(handler.rfile.read(size)) if size else None
        if given is not None:
            given = _asked(given, asking)
        connection = self._connection()
        self._open.add(connection)
        begun = time.monotonic()
        try:
            path = self._server.path + handler.path.removeprefix("/v1")
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
            connection.request(handler.command, path, json.dumps(given) if given else None, headers)
            answer = connection.getresponse()
            reply, first = self._relay(answer, handler, asking if given else None)
        finally:
            self._open.discard(connection)
            connection.close()
        if given is not None:
            _note(trace, given, reply, answer.status, time.monotonic() - begun, first - begun)

    def _connection(self) -> http.client.HTTPConnection:
        secure = self._server.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._server.hostname or "", self._server.port, timeout=_SILENCE)

    def _relay(
        self,
        answer: http.client.HTTPResponse,
        handler: BaseHTTPRequestHandler,
        asking: Asking | None,
    ) -> tuple[_Reply, float]:
        """Hand the answer on, as it comes if it is a stream; returns when its first text came."""
        reply, first, kind = _Reply(), 0.0, answer.getheader("Content-Type") or "application/json"
        if "event-stream" not in kind:
            raw = answer.read(_BODY_LIMIT)
            first = time.monotonic()
            with suppress(ValueError):
                whole = json.loads(raw)
                if asking and asking.schema and answer.status == 200:
                    raw = json.dumps(_unwrapped(whole)).encode()
                reply.take(whole)
            if answer.status != 200:
                reply.text = raw[:2000].decode("utf-8", "replace")
            _head(handler, answer.status, kind)
            handler.wfile.write(raw)
            return reply, first
        _head(handler, answer.status, kind)
        for line in _lines(answer):
            handler.wfile.write(line)
            handler.wfile.flush()
            with suppress(ValueError):
                reply.take(json.loads(line.removeprefix(b"data: ")))
            first = first or (time.monotonic() if reply.text else 0.0)
        return reply, first or time.monotonic()


def _lines(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    size = 0
    while size < _BODY_LIMIT and (line := answer.readline(_BODY_LIMIT)):
        size += len(line)
        yield line


def _head(handler: BaseHTTPRequestHandler, status: int, kind: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.end_headers()


def _asked(given: dict[str, Any], asking: Asking) -> dict[str, Any]:
    """The request with what is the same for all."""
    wanted = given.pop("max_completion_tokens", None) or given.get("max_tokens")
    limit = min(int(wanted or asking.reply_tokens), asking.reply_tokens)
    body = {**given, "model": asking.model, "temperature": 0, "max_tokens": limit}
    body["cache_prompt"] = asking.cache
    if body.get("stream"):
        body["stream_options"] = {"include_usage": True}
    if asking.schema:
        named = {"name": "answer", "strict": True, "schema": asking.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _unwrapped(whole: dict[str, Any]) -> dict[str, Any]:
    """A reply whose text is a JSON string, as that text; a server may leave line breaks raw."""
    for choice in whole.get("choices") or ():
        text = str(choice["message"].get("content") or "")
        with suppress(ValueError):
            text = str(json.loads(text, strict=False))
        choice["message"]["content"] = text.removeprefix('"').removesuffix('"')
    return whole


def _note(
    trace: Path, given: dict[str, Any], reply: _Reply, status: int, seconds: float, first: float
) -> None:
    details = reply.usage.get("prompt_tokens_details") or {}
    text = "\n\n".join(_words(message) for message in given.get("messages") or ())
    append_line(
        trace,
        kind="request",
        shown=text[-_SHOWN_LIMIT:],
        reply=reply.text[:_SHOWN_LIMIT],
        status=status,
        finish=reply.finish,
        prompt_tokens=int(reply.usage.get("prompt_tokens") or 0),
        reply_tokens=int(reply.usage.get("completion_tokens") or 0),
        cached_tokens=int(details.get("cached_tokens") or 0),
        seconds=round(seconds, 3),
        first_seconds=round(reply.timings.get("prompt_ms", 1000 * first) / 1000, 3),
        schema=bool(given.get("response_format")),
    )


def _words(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in content)
    return f"{message.get('role')}: {content}"
