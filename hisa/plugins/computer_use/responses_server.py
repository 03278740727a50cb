"""A fake server of the OpenAI Responses API on a real loopback socket.

It enforces the protocol as the real one does: what the API refuses, such as a computer call without
its output, or a safety check that nobody acknowledged, is answered with status 400. Its answers
follow a script, as for `hisa.testing.model_server.FakeServer`::

    with ResponsesServer([computer_call({"type": "click", "button": "left", "x": 9, "y": 9})]) as s:
        ...  # s.url, s.requests
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from hisa.models.tokens import estimate_tokens
from hisa.protocols import ModelReply
from hisa.testing.model_server import FakeServer, Handler, ReceivedRequest

__all__ = ["ResponsesReceived", "ResponsesServer", "computer_call", "function_call"]

_PARAMETERS = frozenset(
    {"background", "conversation", "include", "input", "instructions", "max_output_tokens"}
    | {"max_tool_calls", "metadata", "model", "parallel_tool_calls", "previous_response_id"}
    | {"prompt", "prompt_cache_key", "reasoning", "safety_identifier", "service_tier", "store"}
    | {"stream", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p"}
    | {"truncation", "user"}
)
_NUMBER = itertools.count(1)


def _thinking(thought: str) -> list[dict[str, Any]]:
    if not thought:
        return []
    return [{"type": "reasoning", "summary": [{"type": "summary_text", "text": thought}]}]


def computer_call(
    *actions: Mapping[str, Any], thought: str = "", checks: Mapping[str, str] | None = None
) -> str:
    """Returns a scripted answer: one call of the computer tool.

    Args:
        actions: one, as older models send it, or several, as newer ones do.
        thought: summary of the reasoning before the call.
        checks: pending safety checks, code to message.
    """
    call: dict[str, Any] = {"type": "computer_call", "status": "completed"}
    call |= {"action": actions[0]} if len(actions) == 1 else {"actions": actions}
    pending = [
        {"id": f"sc_{code}", "code": code, "message": m} for code, m in (checks or {}).items()
    ]
    return json.dumps([*_thinking(thought), {**call, "pending_safety_checks": pending}])


def function_call(name: str, *, thought: str = "", **arguments: Any) -> str:
    """Returns a scripted answer: one call of a function."""
    call = {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}
    return json.dumps([*_thinking(thought), {**call, "status": "completed"}])


class ResponsesReceived(ReceivedRequest):
    """A request of the Responses API as it came over the wire."""

    @property
    def items(self) -> list[dict[str, Any]]:
        """The input items."""
        content = self.body["input"]
        return [{"role": "user", "content": content}] if isinstance(content, str) else content

    @property
    def images(self) -> list[dict[str, Any]]:
        """The pictures of all items, outputs of computer calls included."""
        shown = [p for p in self._parts() if p.get("type") == "input_image"]
        return shown + [i["output"] for i in self.items if i.get("type") == "computer_call_output"]

    def text_by(self, *roles: str) -> str:
        """Returns the text of the messages of these roles; of all if none is named."""
        return "\n".join(part["text"] for part in self._parts(*roles) if "text" in part)

    def _parts(self, *roles: str) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for item in self.items:
            content = item.get("content")
            if "role" in item and (not roles or item["role"] in roles):
                plain = [{"type": "input_text", "text": content}]
                parts += content if isinstance(content, list) else plain
        return parts


class _Responses(Handler):
    """Speaks the Responses API."""

    path_end: ClassVar[str] = "/responses"

    def read_request(self, headers: dict[str, str], body: Any) -> ReceivedRequest:
        """Returns the request if the API would accept it.

        Raises:
            ValueError, TypeError, KeyError: it would not.
        """
        if unknown := set(body) - _PARAMETERS:
            raise ValueError(f"Unknown parameter: {min(unknown)!r}")
        if not isinstance(body["model"], str) or not isinstance(body["input"], str | list):
            raise ValueError("model or input is of a wrong type")
        request = ResponsesReceived(self.path, headers, body)
        for problem in (*_wrong_tools(body), *_wrong_items(request.items)):
            raise ValueError(problem)
        return request

    def completion(self, reply: str | ModelReply, received: ReceivedRequest) -> dict[str, Any]:
        """Returns the body of a good answer; a reply that is a JSON list becomes its items."""
        answer = ModelReply(reply) if isinstance(reply, str) else reply
        tokens_in = answer.usage.tokens_in or estimate_tokens(received.text)
        tokens_out = answer.usage.tokens_out or estimate_tokens(answer.text)
        cut = answer.finish == "length"
        return {
            "id": f"resp_{next(_NUMBER)}",
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "error": None,
            "model": answer.model or received.body["model"],
            "output": _output(answer.text),
            "usage": {
                "input_tokens": tokens_in,
                "input_tokens_details": {"cached_tokens": answer.usage.cached_in},
                "output_tokens": tokens_out,
                "output_tokens_details": {"reasoning_tokens": answer.usage.reasoning_out},
                "total_tokens": tokens_in + tokens_out,
            },
        }


class ResponsesServer(FakeServer):
    """Serves a script over the Responses API; see `FakeServer` and this module."""

    handler: ClassVar[type[Handler]] = _Responses


def _output(text: str) -> list[dict[str, Any]]:
    """Returns a reply's items, each with an id of its own."""
    try:
        items = json.loads(text)
    except ValueError:
        items = None
    if not isinstance(items, list):
        words = {"type": "output_text", "text": text, "annotations": []}
        message = {"type": "message", "role": "assistant", "status": "completed"}
        items = [{**message, "content": [words]}] if text else []
    return [_add_ids(item) if isinstance(item, dict) else item for item in items]


def _add_ids(item: dict[str, Any]) -> dict[str, Any]:
    number = next(_NUMBER)
    fields = {"id": f"item_{number}", **item}
    if str(item.get("type")).endswith("_call"):
        return {"call_id": f"call_{number}", **fields}
    if item.get("type") == "reasoning":
        return {"encrypted_content": f"sealed {number}", **fields}
    return fields


# ---------------------------------------------------------------- what the API refuses


def _wrong_tools(body: Mapping[str, Any]) -> Iterator[str]:
    for tool in body.get("tools", ()):
        if tool.get("type") == "computer_use_preview":
            if not (tool.get("display_width") and tool.get("display_height")):
                yield "computer_use_preview: display_width and display_height are required"
            if body.get("truncation") != "auto":
                yield "computer_use_preview requires truncation to be 'auto'"


def _wrong_items(items: list[dict[str, Any]]) -> Iterator[str]:
    calls = {i["call_id"]: i for i in items if str(i.get("type")).endswith("_call")}
    outputs = {i["call_id"]: i for i in items if str(i.get("type")).endswith("_call_output")}
    for call_id, call in calls.items():
        if call_id not in outputs:
            yield f"No tool output found for {call['type']} {call_id}."
        elif call["type"] == "computer_call":
            yield from _wrong_output(call, outputs[call_id])
    for call_id in outputs.keys() - calls.keys():
        yield f"No tool call found for call_id {call_id}."
    for item in items:
        if item.get("type") == "reasoning" and not item.get("encrypted_content"):
            yield f"Item {item.get('id')!r} not found. Items are not kept when store is false."


def _wrong_output(call: Mapping[str, Any], output: Mapping[str, Any]) -> Iterator[str]:
    shown = output.get("output", {})
    if shown.get("type") != "computer_screenshot" or not shown.get("image_url"):
        yield f"{call['call_id']}: the output must be a computer_screenshot"
    known = {check["id"] for check in call.get("pending_safety_checks", ())}
    acknowledged = {check["id"] for check in output.get("acknowledged_safety_checks") or ()}
    if known - acknowledged:
        missing = sorted(known - acknowledged)
        yield f"{call['call_id']}: safety checks {missing} must be acknowledged"
    if acknowledged - known:
        yield f"{call['call_id']}: no such safety checks: {sorted(acknowledged - known)}"
