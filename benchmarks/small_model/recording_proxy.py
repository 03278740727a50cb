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
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["ANSWER_TEXT", "Asking", "RecordingProxy", "append_line"]

_BODY_LIMIT = 8_000_000
"""Bytes of a request or reply; a context of 32,000 tokens has about 150,000."""
_SHOWN_LIMIT = 40_000
"""Characters of a request that are written down: more than a context of 8,192 tokens holds."""
_SILENCE = 900.0
"""Seconds without a byte from the server; an episode's own limit is below it."""
_END_SECONDS = 5.0
"""For what has come of a reply to be written down."""
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
    session: str = ""
    """Begins the first message, so that no arm finds its prompt in the server's cache because
    another one has just asked about the same page."""


def append_line(path: Path, **fields: Any) -> None:
    """Append one JSON object; whole lines only, whoever else appends to the file."""
    line = json.dumps(fields, ensure_ascii=True, default=str) + "\n"
    with path.open("ab", buffering=0) as file:
        file.write(line.encode())


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
        limit = time.monotonic() + _END_SECONDS
        while self._open and time.monotonic() < limit:  # what is in hand is still written down
            time.sleep(0.01)

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
            raw, first = _relay(answer, handler, unwrap=asking.schema is not None)
            if given is not None:
                _note(trace, given, raw, answer.status, (begun, first, time.monotonic()))
        finally:
            connection.close()
            self._open.discard(connection)

    def _connection(self) -> http.client.HTTPConnection:
        secure = self._server.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._server.hostname or "", self._server.port, timeout=_SILENCE)


def _relay(
    answer: http.client.HTTPResponse, handler: BaseHTTPRequestHandler, *, unwrap: bool
) -> tuple[bytes, float]:
    """Hand the answer on, as it comes if it is a stream; returns it and when it began to come."""
    kind = answer.getheader("Content-Type") or "application/json"
    streamed = "event-stream" in kind
    line = answer.readline(_BODY_LIMIT) if streamed else answer.read(_BODY_LIMIT)
    first, raw = time.monotonic(), b""
    if unwrap and answer.status == 200 and not streamed:
        line = _unwrapped(line)
    handler.send_response(answer.status)
    handler.send_header("Content-Type", kind)
    handler.end_headers()
    while line and len(raw) < _BODY_LIMIT:
        raw += line
        handler.wfile.write(line)
        handler.wfile.flush()
        line = answer.readline(_BODY_LIMIT) if streamed else b""
    return raw, first


def _asked(given: dict[str, Any], asking: Asking) -> dict[str, Any]:
    """The request with what is the same for all."""
    wanted = given.pop("max_completion_tokens", None) or given.get("max_tokens")
    limit = min(int(wanted or asking.reply_tokens), asking.reply_tokens)
    body = {**given, "model": asking.model, "temperature": 0, "max_tokens": limit}
    body["cache_prompt"] = asking.cache
    if body.get("stream"):
        body["stream_options"] = {"include_usage": True}
    if asking.session and body.get("messages"):
        first, *rest = body["messages"]
        content = first.get("content") or ""
        if isinstance(content, str):
            content = f"{asking.session}\n{content}"
        else:
            content = [{"type": "text", "text": asking.session}, *content]
        body["messages"] = [{**first, "content": content}, *rest]
    if asking.schema:
        named = {"name": "answer", "strict": True, "schema": asking.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _unwrapped(raw: bytes) -> bytes:
    """A reply whose text is a JSON string, as that text; a server may leave line breaks raw."""
    whole = json.loads(raw)
    for choice in whole.get("choices") or ():
        text = str(choice["message"].get("content") or "")
        with suppress(ValueError):
            text = str(json.loads(text, strict=False))
        choice["message"]["content"] = text.removeprefix('"').removesuffix('"')
    return json.dumps(whole).encode()


def _note(
    trace: Path, given: dict[str, Any], raw: bytes, status: int, times: tuple[float, float, float]
) -> None:
    """Write down a request and its answer, whole or a stream of parts."""
    text = ""
    usage: dict[str, Any] = {}
    timings: dict[str, Any] = {}
    for line in raw.split(b"\n") if raw.startswith(b"data:") else [raw]:
        with suppress(ValueError):
            part = json.loads(line.removeprefix(b"data:"))
            usage, timings = part.get("usage") or usage, part.get("timings") or timings
            for choice in part.get("choices") or ():
                message = choice.get("delta") or choice.get("message") or {}
                text += str(message.get("content") or "")
    shown = "\n\n".join(_words(message) for message in given.get("messages") or ())
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    begun, first, ended = times
    append_line(
        trace,
        kind="request",
        shown=shown[-_SHOWN_LIMIT:],
        reply=(text if status == 200 else raw.decode("utf-8", "replace"))[:_SHOWN_LIMIT],
        status=status,
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        reply_tokens=int(usage.get("completion_tokens") or 0),
        cached_tokens=int(cached or 0),
        seconds=round(ended - begun, 3),
        first_seconds=round(timings.get("prompt_ms", 1000 * (first - begun)) / 1000, 3),
        schema=bool(given.get("response_format")),
    )


def _words(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in content)
    return f"{message.get('role')}: {content}"
