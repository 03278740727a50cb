"""Bodies of servers as they were reported, above all refusals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from hisa.testing.model_server import FakeServer, Fault, Handler, ReceivedRequest


@dataclass(frozen=True)
class Recorded(Fault):
    """A response as it stood on the wire."""

    kind: Literal["status"] = "status"
    body: str = ""
    content_type: str = "application/json"


class _Handler(Handler):
    def _fault(self, fault: Fault, received: ReceivedRequest) -> None:
        if isinstance(fault, Recorded):
            self._bytes(fault.status, fault.body.encode(), kind=fault.content_type)
        else:
            super()._fault(fault, received)


class RecordedServer(FakeServer):
    """A server that answers with recorded bodies too."""

    handler = _Handler


def _error(status: int, message: str, **more: object) -> Recorded:
    return Recorded(status=status, body=json.dumps({"error": {"message": message, **more}}))


def _plain(status: int, body: object) -> Recorded:
    return Recorded(status=status, body=json.dumps(body))


SCHEMA_REFUSED = {
    "OpenAI": _error(
        400,
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this "
        "model.",
        param=None,
    ),
    "llama.cpp": _error(500, "failed to parse grammar", code=500, type="server_error"),
    "Gemini": _plain(
        400, [{"error": {"code": 400, "message": "JSON mode is not enabled for models/gemma-3"}}]
    ),
    "FastAPI": _plain(
        422, {"detail": [{"loc": ["body", "response_format"], "msg": "extra fields not permitted"}]}
    ),
}


def events(*data: object, name: str = "data") -> Recorded:
    """A stream of server-sent events, without an end mark."""
    lines = "".join(
        f"{name if i == len(data) else 'data'}: {json.dumps(d)}\n\n" for i, d in enumerate(data, 1)
    )
    return Recorded(status=200, body=lines, content_type="text/event-stream")


def piece(text: str, finish: str | None = None, **more: object) -> dict[str, object]:
    """A chunk with a piece of text."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish, **more}
    return {"object": "chat.completion.chunk", "choices": [choice]}
