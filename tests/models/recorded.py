"""Bodies by which servers refuse parts of a request, as far as reports of their users hold them.

docs/servers.md names the servers, and says whose words were not found in a report.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Literal

from hisa.testing.model_server import FakeServer, Fault, Handler, Received


@dataclass(frozen=True)
class Recorded(Fault):
    """A response as it stood on the wire."""

    kind: Literal["status"] = "status"
    body: str = ""
    content_type: str = "application/json"
    at_once: threading.Barrier | None = None
    """Waited at, so that several requests are answered at once."""


class _Handler(Handler):
    def _fault(self, fault: Fault, received: Received) -> None:
        if isinstance(fault, Recorded):
            if fault.at_once is not None:
                fault.at_once.wait(timeout=60)
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


ROLES = "Conversation roles must alternate user/assistant/user/assistant/..."
SCHEMA_REFUSED = {
    "OpenAI": _error(
        400,
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this "
        "model.",
        param=None,
    ),
    "Azure": _error(
        400,
        "response_format value as json_schema is enabled only for api versions "
        "2024-08-01-preview and later",
        code="BadRequest",
    ),
    "Groq": _error(
        400, "This model does not support response format `json_schema`.", param="response_format"
    ),
    "DeepSeek": _error(
        400,
        "This response_format type is unavailable now",
        type="invalid_request_error",
        code="invalid_request_error",
    ),
    "LM Studio": _plain(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
    "vLLM": _plain(
        400,
        {
            "object": "error",
            "message": "The provided JSON schema contains features not supported by xgrammar.",
            "code": 400,
        },
    ),
    "llama.cpp": _error(500, "failed to parse grammar", code=500, type="server_error"),
    "Gemini": _plain(
        400, [{"error": {"code": 400, "message": "JSON mode is not enabled for models/gemma-3"}}]
    ),
    "Novita": _plain(
        400,
        {
            "code": 400,
            "reason": "INVALID_REQUEST_BODY",
            "message": "model: deepseek-r1 does not support feature: structured-outputs",
        },
    ),
    "FastAPI": _plain(
        422, {"detail": [{"loc": ["body", "response_format"], "msg": "extra fields not permitted"}]}
    ),
}
PICTURES_REFUSED = {
    "OpenAI": _error(400, "Invalid content type. image_url is only supported by certain models."),
    "OpenRouter": _error(404, "No endpoints found that support image input", code=404),
    "DeepSeek": _error(
        400,
        "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant "
        "`image_url`, expected `text` at line 1 column 746109",
    ),
    "Groq": _error(400, "messages[1].content must be a string"),
    "vLLM": _error(400, "At most 0 image(s) may be provided in one prompt.", code=400),
    "llama.cpp": _error(
        500,
        "image input is not supported - hint: if this is unexpected, you may need to provide the "
        "mmproj",
        code=500,
        type="server_error",
    ),
    "Ollama": _error(500, "this model is missing data required for image input"),
    "LM Studio": _plain(400, {"error": "Model does not support images."}),
}
SYSTEM_REFUSED = {
    "vLLM": _plain(
        400, {"object": "error", "message": "System role not supported", "param": None, "code": 400}
    ),
    "Gemini": _error(400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
    "OpenAI": _error(
        400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."
    ),
    "LM Studio": _plain(
        400,
        {
            "error": "Error rendering prompt with jinja template: Only user and assistant roles "
            "are supported!"
        },
    ),
    "llama.cpp": _error(500, "Jinja Exception: System role not supported", code=500),
}
TURNS_REFUSED = {
    "vLLM": _error(400, f"{ROLES} {ROLES}", type="BadRequestError", code=400),
    "TGI": _plain(
        422, {"error": f"Template error: invalid operation: {ROLES}", "error_type": "template"}
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
