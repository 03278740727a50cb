"""The bodies of the Responses API: writes requests as input items, and reads responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hisa.config import ModelSettings
from hisa.models.profile import Profile
from hisa.models.request_body import answer_limit, response_format, sampling
from hisa.models.response_body import (
    ChatResponse,
    MalformedResponse,
    count,
    parse_body,
    part_of,
    server_error,
)
from hisa.protocols import ImagePart, Message, ModelRequest, TextPart, Usage
from hisa.text.safe_text import encodable

__all__ = ["ACKNOWLEDGED", "encode_responses", "read_responses"]

ACKNOWLEDGED = "acknowledged_safety_checks"
"""Key of a call in an assistant's turn: the safety checks that a person allowed."""
_CALLS = ("computer_call", "function_call")


def encode_responses(
    request: ModelRequest, profile: Profile, settings: ModelSettings
) -> dict[str, Any]:
    """Returns the body of a request. The server keeps nothing, so a request is complete in itself.

    With tools, an assistant's turn holds the items that the model answered, and the turn after it
    the outputs of the calls: the picture for a computer call, the text for a function call.

    Args:
        request: the messages, the tools and the limits.
        profile: the model's; it says which parameters the model takes.
        settings: the role's model, limits and effort.
    """
    body: dict[str, Any] = {
        "model": settings.model,
        "input": list(_items(request, profile)),
        "max_output_tokens": answer_limit(request, profile, settings.max_tokens),
        "store": False,
        **sampling(request, profile, settings),
    }
    if request.tools:
        body |= {
            "tools": [dict(tool) for tool in request.tools],
            "parallel_tool_calls": False,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"summary": "concise"},
        }
    if settings.effort:
        body["reasoning"] = {**body.get("reasoning", {}), "effort": settings.effort}
    if any(tool.get("type") == "computer_use_preview" for tool in request.tools):
        body["truncation"] = "auto"  # that tool requires it
    if form := response_format(request, profile, settings):
        body["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
    return body


def _items(request: ModelRequest, profile: Profile) -> Iterator[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for message in request.messages:
        # Without tools, the answer is words, which may look like items: a list of boxes, say.
        answered = _read_answer_items(message) if request.tools else None
        if answered is not None:
            calls = [item for item in answered if item.get("type") in _CALLS]
            yield from ({k: v for k, v in i.items() if k != ACKNOWLEDGED} for i in answered)
        elif calls:
            yield from (_output(call, message) for call in calls)
            calls = []
        else:
            yield {"role": message.role, "content": _content(message, profile)}


def _read_answer_items(message: Message) -> list[dict[str, Any]] | None:
    """Returns the items of an assistant's turn; None for any other turn, and for one of words."""
    if message.role != "assistant":
        return None
    try:
        items = json.loads(_text(message))
    except ValueError:
        return None
    is_item_list = isinstance(items, list) and all(isinstance(item, dict) for item in items)
    return items if is_item_list else None


def _output(call: dict[str, Any], message: Message) -> dict[str, Any]:
    """Returns the item that gives the model the result of its call."""
    if call["type"] == "function_call":
        return {
            "type": "function_call_output",
            "call_id": call.get("call_id"),
            "output": encodable(_text(message)),
        }
    (picture,) = (part.image for part in message.parts if isinstance(part, ImagePart))
    shown = {"type": "computer_screenshot", "image_url": picture.data_url}
    output = {"type": "computer_call_output", "call_id": call.get("call_id"), "output": shown}
    return {**output, ACKNOWLEDGED: call[ACKNOWLEDGED]} if call.get(ACKNOWLEDGED) else output


def _text(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def _content(message: Message, profile: Profile) -> str | list[dict[str, Any]]:
    """Returns an assistant's words as a plain string, and any other message as input items."""
    if message.role == "assistant":
        return encodable(_text(message))
    return [
        {"type": "input_text", "text": encodable(part.text)}
        if isinstance(part, TextPart)
        else {
            "type": "input_image",
            "image_url": part.image.data_url,
            "detail": profile.image_detail or "auto",
        }
        for part in message.parts
    ]


# ---------------------------------------------------------------- the response


def read_responses(raw: bytes, *, as_items: bool) -> ChatResponse:
    """Reads a response of the Responses API.

    Args:
        raw: the body.
        as_items: whether the text becomes a JSON list of the items; else it is the model's words.

    Raises:
        MalformedResponse: not JSON, another shape, or an error instead of an answer.
    """
    data = parse_body(raw)
    if data.get("error"):
        raise server_error(data["error"])
    items = data.get("output")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise MalformedResponse(
            f"no list of output items in {raw[:80].decode('utf-8', 'replace')!r}"
        )
    text = json.dumps(items) if as_items and items else "".join(_words(items))
    model = data.get("model")
    return ChatResponse(
        text=encodable(text),
        finish=_finish(data),
        model=encodable(model) if isinstance(model, str) else "",
        usage=_usage(data.get("usage")),
    )


def _words(items: list[dict[str, Any]]) -> Iterator[str]:
    for item in items:
        parts = item.get("content") if item.get("type") == "message" else None
        for part in parts if isinstance(parts, list) else ():
            text = part.get("text") or part.get("refusal") if isinstance(part, dict) else None
            if isinstance(text, str):
                yield text


def _finish(data: dict[str, Any]) -> str:
    """Returns the finish reason as chat completions name it."""
    details = data.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if data.get("status") != "incomplete" and not reason:
        return "stop"
    return "length" if reason == "max_output_tokens" else str(reason or "incomplete")


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    tokens_in, tokens_out = count(value.get("input_tokens")), count(value.get("output_tokens"))
    if tokens_in is None or tokens_out is None:
        return None
    return Usage(
        tokens_in,
        tokens_out,
        part_of(tokens_in, value.get("input_tokens_details"), "cached_tokens"),
        part_of(tokens_out, value.get("output_tokens_details"), "reasoning_tokens"),
    )
