"""The fake of the Responses API, asked by the library that the real one is asked with."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from hisa.plugins.computer_use.responses_server import (
    ResponsesReceived,
    ResponsesServer,
    computer_call,
    function_call,
)
from hisa.protocols import ModelReply, Usage

TOOL: Any = {
    "type": "computer_use_preview",
    "display_width": 64,
    "display_height": 36,
    "environment": "linux",
}
LOOK = {"type": "screenshot"}
SHOWN: Any = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}


def client(server: ResponsesServer) -> openai.OpenAI:
    http: Any = httpx.Client(trust_env=False)
    return openai.OpenAI(base_url=server.url, api_key="x", max_retries=0, http_client=http)


def ask(server: ResponsesServer, *items: Any, **more: Any) -> Any:
    items_sent = [{"role": "user", "content": "Go."}, *items]
    with client(server) as api:
        return api.responses.create(
            model="m", input=items_sent, tools=[TOOL], **{"truncation": "auto", **more}
        )


def test_the_library_reads_its_answers() -> None:
    script: list[str | ModelReply] = [
        computer_call({"type": "wait"}, thought="Hm.", checks={"odd": "Odd."}),
        computer_call(LOOK, {"type": "wait"}),
        function_call("termination", summary="Done."),
        ModelReply("In words.", Usage(7, 3, 2)),
    ]
    with ResponsesServer(script) as server:
        thinking, single = ask(server).output
        (batch,) = ask(server).output
        (function,) = ask(server).output
        words = ask(server)
    assert thinking.summary[0].text == "Hm."
    assert single.action.type == "wait"
    assert [check.code for check in single.pending_safety_checks] == ["odd"]
    assert [action.type for action in batch.actions] == ["screenshot", "wait"]
    assert (function.name, function.arguments) == ("termination", '{"summary": "Done."}')
    assert words.output_text == "In words."
    assert (words.usage.input_tokens, words.usage.output_tokens) == (7, 3)
    assert len({single.call_id, batch.call_id, function.call_id}) == 3
    assert isinstance(server.requests[0], ResponsesReceived)
    assert server.requests[0].text == "Go."


def test_a_loop_as_the_library_documents_it() -> None:
    with ResponsesServer([computer_call(LOOK, thought="Look."), "Done."]) as server:
        first = ask(server, include=["reasoning.encrypted_content"], store=False)
        items = [item.model_dump(exclude_none=True) for item in first.output]
        output = {"type": "computer_call_output", "call_id": items[-1]["call_id"], "output": SHOWN}
        assert ask(server, *items, output, store=False).output_text == "Done."
    assert [len(request.images) for request in server.requests] == [0, 1]


CALL: Any = {"type": "computer_call", "id": "i", "call_id": "c1", "action": LOOK}
CHECK = [{"id": "sc_odd", "code": "odd", "message": "Odd."}]
OUTPUT: Any = {"type": "computer_call_output", "call_id": "c1", "output": SHOWN}


@pytest.mark.parametrize(
    ("items", "more", "message"),
    [
        ([CALL], {}, "No tool output found for computer_call c1"),
        ([{**CALL, "pending_safety_checks": CHECK}, OUTPUT], {}, "sc_odd.*must be acknowledged"),
        ([{"type": "reasoning", "id": "rs_1", "summary": []}], {}, "not kept when store is false"),
        ([], {"extra_body": {"max_tokens": 5}}, "Unknown parameter: 'max_tokens'"),
        ([], {"tools": [{"type": "computer_use_preview"}]}, "display_width and display_height"),
    ],
)
def test_bad_request_is_refused_as_the_api_does(
    items: list[dict[str, Any]], more: Any, message: str
) -> None:
    with ResponsesServer(["never said"]) as server:
        with pytest.raises(openai.BadRequestError, match=message), client(server) as api:
            api.responses.create(
                model="m",
                input=[{"role": "user", "content": "Go."}, *items],  # type: ignore[list-item]
                **{"tools": [TOOL], "truncation": "auto", **more},
            )
        assert not server.requests
