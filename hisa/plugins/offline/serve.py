"""The offline model behind the OpenAI protocol, in process: a transport without a socket.

It is stateless: all it needs is in the request, so a run can continue in another process.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Annotated, Any, Literal

import httpx
from pydantic import BaseModel, Field, PositiveInt, ValidationError

from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.plugins.offline.role_answers import Turn, Unanswerable, answer

__all__ = ["BASE_URL", "MODEL", "http_client"]

BASE_URL = "http://offline/v1"
MODEL = "offline"
OWNER = "hisa: offline rule follower, not a language model"


class _Text(BaseModel):
    type: Literal["text"]
    text: str


class _Image(BaseModel):
    type: Literal["image_url"]


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Annotated[_Text | _Image, Field(discriminator="type")]]


class _Body(BaseModel):
    """A request: without streaming, and for one answer, since each request has only one."""

    model: str
    messages: list[_Message] = Field(min_length=1)
    max_completion_tokens: PositiveInt | None = None
    max_tokens: PositiveInt | None = None
    stream: Literal[False] | None = None
    n: Literal[1] | None = None


class _Refused(Exception):
    """A request that gets an error body."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code

    @property
    def body(self) -> dict[str, Any]:
        """The error body of the OpenAI protocol."""
        kind = "invalid_request_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return {"error": error}


class _Transport(httpx.AsyncBaseTransport):
    """Serves ``POST /v1/chat/completions`` and ``GET /v1/models``."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the answer, or an error body if there is none."""
        try:
            body = await _respond(request.method, request.url.path, await request.aread())
        except _Refused as refused:
            return httpx.Response(refused.status, json=refused.body)
        return httpx.Response(200, json=body)


def http_client() -> httpx.AsyncClient:
    """Returns a client whose only server is the offline model, at ``http://offline/v1``."""
    return httpx.AsyncClient(transport=_Transport(), base_url=BASE_URL)


async def _respond(method: str, path: str, content: bytes) -> dict[str, Any]:
    match (method, path.rstrip("/")):
        case ("GET", "/v1/models"):
            entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": OWNER}
            return {"object": "list", "data": [entry]}
        case ("POST", "/v1/chat/completions"):
            return await _complete(content)
        case (_, "/v1/models" | "/v1/chat/completions"):
            raise _Refused(405, f"method {method} is not allowed here")
        case _:
            served = "served: /v1/chat/completions, /v1/models"
            raise _Refused(404, f"no route {method} {path}; {served}")


async def _complete(content: bytes) -> dict[str, Any]:
    body, fingerprint = _decode_body(content)
    if body.model != MODEL:
        words = f"the model {body.model[:80]!r} does not exist here; there is {MODEL!r}"
        raise _Refused(404, words, param="model", code="model_not_found")
    limit = body.max_completion_tokens or body.max_tokens
    turns = [_turn(message) for message in body.messages]
    try:
        text = await asyncio.to_thread(answer, turns)  # it takes CPU time
    except Unanswerable as error:
        raise _Refused(400, str(error), param="messages", code="unsupported_job") from error
    tokens_in = sum(estimate_tokens(turn.text) for turn in turns)
    finish = "stop"
    if limit is not None and estimate_tokens(text) > limit:
        text, finish = prefix_within(text, limit), "length"
    tokens_out = estimate_tokens(text)
    return {
        "id": f"chatcmpl-{fingerprint}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _decode_body(content: bytes) -> tuple[_Body, str]:
    """Returns the body, and a fingerprint that is the same for the same request.

    An answer depends only on the body, and not on the time. A lone surrogate, which is possible in
    JSON but not in UTF-8, is replaced.
    """
    try:
        tree = json.loads(content)
        plain = json.dumps(tree, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
        return _Body.model_validate_json(plain), hashlib.sha256(plain).hexdigest()[:32]
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        words = f"{place!r}: {first['msg']}" if place else "the body must be a JSON object"
        raise _Refused(400, words, param=place) from error
    except (ValueError, RecursionError) as error:
        raise _Refused(400, f"the body is not valid JSON: {error}") from error


def _turn(message: _Message) -> Turn:
    content = message.content
    parts = [_Text(type="text", text=content)] if isinstance(content, str) else content
    role = "system" if message.role == "developer" else message.role
    return Turn(role, "\n".join(part.text for part in parts if isinstance(part, _Text)))
