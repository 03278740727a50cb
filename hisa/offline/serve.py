"""The offline model behind the OpenAI protocol, in process: a bare ASGI app without a socket.

Stateless: everything it knows is in the request, so a run can go on in another process.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.offline.jobs import Turn, Unanswerable, answer

if TYPE_CHECKING:
    import httpx

__all__ = ["BASE_URL", "MODEL", "app", "http_client"]

BASE_URL = "http://offline/v1"
MODEL = "offline"
OWNER = "hisa: offline rule follower, not a language model"
MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request."""
_ROLES = frozenset({"system", "developer", "user", "assistant"})

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Refused(Exception):
    """A request that gets an error body."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str = ""
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code

    @property
    def body(self) -> dict[str, Any]:
        """As the OpenAI protocol has it."""
        error = {
            "message": str(self),
            "type": "invalid_request_error",
            "param": self.param,
            "code": self.code or None,
        }
        return {"error": error}


def http_client() -> httpx.AsyncClient:
    """A client whose only server is the offline model, at ``http://offline/v1``."""
    import httpx

    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=BASE_URL)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI app: ``POST /v1/chat/completions`` and ``GET /v1/models``."""
    if scope["type"] != "http":
        raise ValueError(f"scope {scope['type']!r}: only http is served")
    try:
        status, body = 200, await _respond(scope, receive)
    except _Refused as refused:
        status, body = refused.status, refused.body
    payload = json.dumps(body).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(payload)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": payload})


async def _respond(scope: Scope, receive: Receive) -> dict[str, Any]:
    match (scope["method"], scope["path"].rstrip("/")):
        case ("GET", "/v1/models"):
            entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": OWNER}
            return {"object": "list", "data": [entry]}
        case ("POST", "/v1/chat/completions"):
            return await _complete(await _body(receive))
        case (_, "/v1/models" | "/v1/chat/completions"):
            raise _Refused(405, f"method {scope['method']} is not allowed here")
        case (method, path):
            raise _Refused(
                404, f"no route {method} {path}; served: /v1/chat/completions, /v1/models"
            )


async def _body(receive: Receive) -> Mapping[str, Any]:
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > MAX_BODY:
            raise _Refused(413, f"the request is larger than {MAX_BODY} bytes")
        more = message.get("more_body", False)
    try:
        body = json.loads(b"".join(chunks))
    except (ValueError, RecursionError) as error:
        raise _Refused(400, f"the body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise _Refused(400, "the body must be a JSON object")
    return body


async def _complete(body: Mapping[str, Any]) -> dict[str, Any]:
    _check_parameters(body)
    limit = _limit(body)
    turns, text = await asyncio.to_thread(_work, body.get("messages"))
    tokens_in = sum(estimate_tokens(turn.text) for turn in turns)
    text, finish = _limited(text, limit)
    tokens_out = estimate_tokens(text)
    return {
        "id": f"chatcmpl-{_fingerprint(body)}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish,
            }
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _fingerprint(body: Mapping[str, Any]) -> str:
    """The same for the same request: an answer depends on nothing else, not on the time either."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:32]


def _check_parameters(body: Mapping[str, Any]) -> None:
    model = body.get("model")
    if model != MODEL:
        raise _Refused(
            404,
            f"the model {str(model)[:80]!r} does not exist here; there is {MODEL!r}",
            param="model",
            code="model_not_found",
        )
    if body.get("stream"):
        raise _Refused(400, "streaming is not supported; leave 'stream' out", param="stream")
    if body.get("n") not in (None, 1):
        raise _Refused(400, "'n' must be 1: the same request has one answer", param="n")


def _limit(body: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _Refused(400, f"{name!r} must be a whole number from 1 on", param=name)
        return value
    return None


def _limited(text: str, limit: int | None) -> tuple[str, str]:
    if limit is None or estimate_tokens(text) <= limit:
        return text, "stop"
    return prefix_within(text, limit), "length"


def _work(messages: object) -> tuple[Sequence[Turn], str]:
    """Decode and answer; takes CPU time, so it runs in a thread."""
    turns = _turns(messages)
    try:
        return turns, answer(turns)
    except Unanswerable as error:
        raise _Refused(400, str(error), param="messages", code="unsupported_job") from error


def _turns(messages: object) -> Sequence[Turn]:
    if not isinstance(messages, list) or not messages:
        raise _Refused(400, "'messages' must be a list of messages, not empty", param="messages")
    return [_turn(message, f"messages[{number}]") for number, message in enumerate(messages)]


def _turn(message: object, where: str) -> Turn:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        raise _Refused(400, f"{where}: 'role' must be one of {sorted(_ROLES)}", param=where)
    role = "system" if message["role"] == "developer" else message["role"]
    content = message.get("content")
    if isinstance(content, str):
        return Turn(role, _text(content))
    if not isinstance(content, list):
        raise _Refused(400, f"{where}: 'content' must be a string or a list of parts", param=where)
    texts: list[str] = []
    images: list[bytes] = []
    for part in content:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(_text(text))
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                images.append(_image(url, where))
            case _:
                raise _Refused(400, f"{where}: a part must be text or image_url", param=where)
    return Turn(role, "\n".join(texts), tuple(images))


def _text(text: str) -> str:
    """Text that can be encoded: a lone surrogate, which JSON may carry, is replaced."""
    return text.encode("utf-8", "replace").decode()


def _image(url: str, where: str) -> bytes:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise _Refused(400, f"{where}: an image must be a data: address in base64", param=where)
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise _Refused(400, f"{where}: not base64: {error}", param=where) from error
