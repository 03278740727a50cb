"""The offline model behind the OpenAI protocol, in process: a transport without a socket.

Stateless: everything it knows is in the request, so a run can go on in another process.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.offline.role_answers import Turn, Unanswerable, answer

__all__ = ["BASE_URL", "MODEL", "http_client"]

BASE_URL = "http://offline/v1"
MODEL = "offline"
OWNER = "hisa: offline rule follower, not a language model"
_ROLES = frozenset({"system", "developer", "user", "assistant"})


class _Refused(Exception):
    """A request that gets an error body."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code

    @property
    def body(self) -> dict[str, Any]:
        """As the OpenAI protocol has it."""
        kind = "invalid_request_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return {"error": error}


class _Transport(httpx.AsyncBaseTransport):
    """Serves ``POST /v1/chat/completions`` and ``GET /v1/models``."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, or the error body of what cannot be answered."""
        try:
            body = await _respond(request.method, request.url.path, await request.aread())
        except _Refused as refused:
            return httpx.Response(refused.status, json=refused.body)
        return httpx.Response(200, json=body)


def http_client() -> httpx.AsyncClient:
    """A client whose only server is the offline model, at ``http://offline/v1``."""
    return httpx.AsyncClient(transport=_Transport(), base_url=BASE_URL)


async def _respond(method: str, path: str, content: bytes) -> dict[str, Any]:
    match (method, path.rstrip("/")):
        case ("GET", "/v1/models"):
            entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": OWNER}
            return {"object": "list", "data": [entry]}
        case ("POST", "/v1/chat/completions"):
            return await _complete(_decoded(content))
        case (_, "/v1/models" | "/v1/chat/completions"):
            raise _Refused(405, f"method {method} is not allowed here")
        case _:
            served = "served: /v1/chat/completions, /v1/models"
            raise _Refused(404, f"no route {method} {path}; {served}")


def _decoded(content: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(content)
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
    finish = "stop"
    if limit is not None and estimate_tokens(text) > limit:
        text, finish = prefix_within(text, limit), "length"
    tokens_out = estimate_tokens(text)
    message = {"role": "assistant", "content": text}
    return {
        "id": f"chatcmpl-{_fingerprint(body)}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
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
        message = f"the model {str(model)[:80]!r} does not exist here; there is {MODEL!r}"
        raise _Refused(404, message, param="model", code="model_not_found")
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


def _work(messages: object) -> tuple[Sequence[Turn], str]:
    """Decode and answer; takes CPU time, so it runs in a thread."""
    if not isinstance(messages, list) or not messages:
        raise _Refused(400, "'messages' must be a list of messages, not empty", param="messages")
    turns = [_turn(message, f"messages[{number}]") for number, message in enumerate(messages)]
    try:
        return turns, answer(turns)
    except Unanswerable as error:
        raise _Refused(400, str(error), param="messages", code="unsupported_job") from error


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
