"""A fake server of the OpenAI chat protocol on a real loopback socket, with scripted faults.

In a test::

    with FakeServer(["hello", Fault("status", status=429, retry_after="1")]) as server:
        ...  # server.url, server.requests
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Literal, Self, assert_never

from hisa.models.tokens import estimate_tokens
from hisa.protocols import ModelReply, TurnTokens

__all__ = ["FakeServer", "Fault", "FaultKind", "Handler", "Line", "ReceivedRequest"]

FaultKind = Literal[
    "status",  # an HTTP status, with Retry-After where given
    "hang",  # nothing at all until the client or the server gives up
    "drip",  # a blank every 20 ms, for ever
    "cut_off",  # the first half of a good body, complete by its Content-Length
    "cut_connection",  # the first half of a good body, then the connection ends
    "html",  # a web page with status 200
    "empty",  # a choice whose text is empty
    "no_choices",  # a list of no choices
    "no_usage",  # a good answer without token counts
    "length",  # cut at the token limit before any text
    "error_body",  # status 200 and an error object
    "stream_drip",  # a piece of text every 20 ms, for ever
    "stream_comments",  # half of a good stream, then a comment every 20 ms, for ever
    "stream_silence",  # half of a good stream, then nothing
    "stream_end",  # half of a good stream, ended as a whole one but for its end mark
    "stream_cut",  # half of a good stream, then the connection ends
    "stream_line",  # a line of more than any answer, without end
]

_DRIP_SECONDS = 0.02  # chosen by hand
_LINE_PIECES = 96
"""Megabytes of a line without end: more than any reader takes."""


@dataclass(frozen=True)
class Fault:
    """A bad response. ``text`` is what a good one would have said."""

    kind: FaultKind
    status: int = 500
    retry_after: str = ""
    text: str = "a fault was scripted"


Reply = str | ModelReply | Fault


@dataclass(frozen=True)
class Line:
    """One line of a script: the reply to the next request of a role; ``role`` empty: of any."""

    reply: Reply
    role: str = ""


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as it was received. The names of ``headers`` are in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def role(self) -> str:
        """The ``X-Component`` header."""
        return self.headers.get("x-component", "")

    @property
    def step(self) -> int:
        """The ``X-Step`` header; 0 if it is missing."""
        text = self.headers.get("x-step", "0")
        return int(text) if text.isdecimal() else 0

    @property
    def images(self) -> list[dict[str, Any]]:
        """The ``image_url`` objects of all messages."""
        return [part["image_url"] for part in self._parts() if part.get("type") == "image_url"]

    @property
    def text(self) -> str:
        """All text of all messages, one part per line."""
        return self.text_by()

    @property
    def job(self) -> str:
        """The first line of the system prompt."""
        return self.text_by("system").partition("\n")[0].strip()

    def text_by(self, *roles: str) -> str:
        """Returns the text of the messages of these roles; without roles, of all messages."""
        parts = self._parts(*roles)
        return "\n".join(part.get("text", "") for part in parts if part.get("type") == "text")

    def _parts(self, *roles: str) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for message in self.body.get("messages", ()):
            if not roles or message.get("role") in roles:
                content = message.get("content")
                parts += content if isinstance(content, list) else [_text_part(content)]
        return parts


def _text_part(content: object) -> dict[str, Any]:
    return {"type": "text", "text": content if isinstance(content, str) else ""}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    stopping: threading.Event
    answer: Callable[[ReceivedRequest], Reply]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report nothing: faults are meant to make clients go away."""


class Handler(BaseHTTPRequestHandler):
    """Speaks the chat protocol; a subclass may speak another one."""

    server: _Server
    path_end: ClassVar[str] = "/chat/completions"
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    """Buffers head and body: sent apart, each response would wait 40 ms for a delayed ACK."""

    def do_GET(self) -> None:
        """Names the models."""
        if self.path.rstrip("/").endswith("/models"):
            self._json(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})
        else:
            self._error(404, f"no such address: {self.path}")

    def do_POST(self) -> None:
        """Answers a request."""
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not self.path.endswith(self.path_end):
            self._error(404, f"no such address: {self.path}")
            return
        try:
            received = self.read_request(headers, json.loads(raw))
        except (ValueError, TypeError, KeyError) as error:
            self._error(400, f"the request is not as it should be: {error}")
            return
        self._send(self.server.answer(received), received)

    def read_request(self, headers: dict[str, str], body: Any) -> ReceivedRequest:
        """Returns the request, checked to be a chat completion.

        Raises:
            ValueError, TypeError, KeyError: it is not one.
        """
        if not isinstance(body["messages"], list):
            raise ValueError("messages is not a list")
        return ReceivedRequest(self.path, headers, body)

    def completion(self, reply: str | ModelReply, received: ReceivedRequest) -> dict[str, Any]:
        """Returns the body of a good response."""
        return _completion(reply, received)

    def _send(self, reply: Reply, received: ReceivedRequest) -> None:
        if isinstance(reply, Fault):
            self._fault(reply, received)
        else:
            self._good(self.completion(reply, received), received)

    def _good(self, body: dict[str, Any], received: ReceivedRequest) -> None:
        """Send a good response, streamed if the request asks for it."""
        if received.body.get("stream") and "choices" in body:
            self._events(_chunks(body, received))
        else:
            self._json(200, body)

    def _events(self, events: list[bytes], *, is_complete: bool = True) -> None:
        """Send server-sent events, flushed together."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self._chunk(b"data: %s\n\n" % event)
        if is_complete:
            self._chunk(b"")
        self.wfile.flush()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _half(self, good: dict[str, Any], received: ReceivedRequest, kind: FaultKind) -> None:
        """Send half of a good stream, and then the fault."""
        events = _chunks(good, received)
        self._events(events[: len(events) // 2], is_complete=kind == "stream_end")
        self.close_connection = True
        stopping = self.server.stopping
        with suppress(OSError):
            if kind == "stream_silence":
                stopping.wait()
            while kind in ("stream_drip", "stream_comments") and not stopping.wait(_DRIP_SECONDS):
                self._chunk(
                    b": working\n\n" if kind == "stream_comments" else b"data: %s\n\n" % events[1]
                )
                self.wfile.flush()
            for _ in range(_LINE_PIECES if kind == "stream_line" else 0):
                self._chunk(b"x" * (1 << 20))

    def _fault(self, fault: Fault, received: ReceivedRequest) -> None:
        good = self.completion(fault.text, received)
        match fault.kind:
            case "status":
                self._error(fault.status, fault.text, fault.retry_after)
            case "hang":
                self.server.stopping.wait()
                self.close_connection = True
            case "drip":
                self._drip()
            case "cut_off":
                body = json.dumps(good).encode()
                self._bytes(200, body[: len(body) // 2])
            case "cut_connection":
                body = json.dumps(good).encode()
                self._bytes(200, body[: len(body) // 2], length=len(body))
                self.close_connection = True
            case "html":
                self._bytes(200, b"<!doctype html><h1>Welcome</h1>", kind="text/html")
            case "empty":
                self._good(self.completion("", received), received)
            case "no_choices":
                self._good(good | {"choices": [], "output": []}, received)
            case "no_usage":
                self._good({key: good[key] for key in good if key != "usage"}, received)
            case "length":
                self._good(self.completion(ModelReply("", finish="length"), received), received)
            case "error_body":
                self._json(200, {"error": {"message": fault.text, "code": fault.status}})
            case (
                "stream_drip"
                | "stream_comments"
                | "stream_silence"
                | "stream_end"
                | "stream_cut"
                | "stream_line"
            ):
                self._half(good, received, fault.kind)
            case _:
                assert_never(fault.kind)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            while not self.server.stopping.wait(_DRIP_SECONDS):
                self.wfile.write(b" ")
                self.wfile.flush()

    def _error(self, status: int, message: str, retry_after: str = "") -> None:
        self._json(status, {"error": {"message": message, "type": "fake"}}, retry_after=retry_after)

    def _json(self, status: int, body: dict[str, Any], *, retry_after: str = "") -> None:
        self._bytes(status, json.dumps(body).encode(), retry_after=retry_after)

    def _bytes(
        self,
        status: int,
        body: bytes,
        *,
        kind: str = "application/json",
        length: int | None = None,
        retry_after: str = "",
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Print nothing to standard error; `FakeServer` keeps the requests."""


def _completion(reply: str | ModelReply, received: ReceivedRequest) -> dict[str, Any]:
    """Returns the body of a good response; token counts that the reply lacks are estimated."""
    if isinstance(reply, str):
        reply = ModelReply(reply)
    tokens_in = reply.usage.tokens_in or estimate_tokens(received.text)
    tokens_out = reply.usage.tokens_out or estimate_tokens(reply.text)
    message = {"role": "assistant", "content": reply.text}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model or received.body.get("model", "fake"),
        "choices": [
            {"index": 0, "message": message, "finish_reason": reply.finish}
            | _reply_tokens(reply.tokens, received)
        ],
        **_prompt_tokens(reply.tokens, received),
        "usage": {
            "prompt_tokens": tokens_in,
            "prompt_tokens_details": {"cached_tokens": reply.usage.cached_in},
            "completion_tokens": tokens_out,
            "completion_tokens_details": {"reasoning_tokens": reply.usage.reasoning_out},
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _prompt_tokens(tokens: TurnTokens | None, received: ReceivedRequest) -> dict[str, Any]:
    """Returns the token ids of the prompt as vLLM sends them, if the request asks for them."""
    gives_ids = tokens and tokens.prompt_ids and received.body.get("return_token_ids")
    return {"prompt_token_ids": list(tokens.prompt_ids or ())} if tokens and gives_ids else {}


def _reply_tokens(tokens: TurnTokens | None, received: ReceivedRequest) -> dict[str, Any]:
    """Returns token ids and log-probs of the reply, as fields of a choice."""
    fields: dict[str, Any] = {}
    if tokens and tokens.reply_ids and received.body.get("return_token_ids"):
        fields["token_ids"] = list(tokens.reply_ids)
    if tokens and tokens.logprobs and received.body.get("logprobs"):
        fields["logprobs"] = {"content": [{"token": "", "logprob": p} for p in tokens.logprobs]}
    return fields


def _chunks(body: dict[str, Any], received: ReceivedRequest) -> list[bytes]:
    """Returns a completion as the data of the events that stream it, one word each."""
    usage = body.get("usage")
    options = received.body.get("stream_options") or {}
    head = {key: body[key] for key in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    chunks: list[dict[str, Any]] = []
    prompt = {key: body[key] for key in ("prompt_token_ids",) if key in body}
    for choice in body["choices"]:
        words = re.findall(r"\s*\S+\s*$|\s*\S+|\s+", choice["message"]["content"])
        deltas = [{"role": "assistant", "content": ""}, *({"content": word} for word in words), {}]
        chunks += (
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        )
        chunks[-1]["choices"][0]["finish_reason"] = choice["finish_reason"] or None
        chunks[0] |= prompt
        chunks[0]["choices"][0] |= {k: choice[k] for k in ("token_ids", "logprobs") if k in choice}
    if usage is not None and options.get("include_usage"):
        chunks.append({"choices": [], "usage": usage})
    return [*(json.dumps(head | chunk).encode() for chunk in chunks), b"[DONE]"]


class FakeServer:
    """Serves a script on 127.0.0.1 from a thread; a context manager.

    If the script has ended, it responds with status 400, which no client retries.

    Args:
        script: the replies, in order; a `Line` may be for one role only.
        then: returns the reply to a request if the script has none left for it.
        port: the port to listen on; 0: any free port.

    ``requests`` has all requests in the order in which they were received.
    """

    handler: ClassVar[type[Handler]] = Handler

    def __init__(
        self,
        script: Iterable[Reply | Line] = (),
        *,
        then: Callable[[ReceivedRequest], Reply] | None = None,
        port: int = 0,
    ) -> None:
        self.requests: list[ReceivedRequest] = []
        self._script = [line if isinstance(line, Line) else Line(line) for line in script]
        self._then = then
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), self.handler)
        self._server.stopping = threading.Event()
        self._server.answer = self._answer
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """The base address, as in ``OPENAI_BASE_URL``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def left(self) -> int:
        """Number of lines of the script that no request has used yet."""
        return len(self._script)

    def start(self) -> None:
        """Serve from a thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop serving and release responses that hang."""
        self._server.stopping.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, received: ReceivedRequest) -> Reply:
        with self._lock:
            self.requests.append(received)
            return self._next(received)

    def _next(self, received: ReceivedRequest) -> Reply:
        for index, line in enumerate(self._script):
            if line.role in ("", received.role):
                del self._script[index]
                return line.reply
        if self._then is not None:
            return self._then(received)
        return Fault("status", status=400, text="the script holds no more answers")
