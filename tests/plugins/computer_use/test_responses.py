"""The Responses API over a real socket: what is sent, what is read, and what fails."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from hisa.config import ModelSettings, load
from hisa.models.budget import Budget
from hisa.models.correction import with_correction
from hisa.models.endpoint import Endpoint
from hisa.models.open_models import open_models
from hisa.models.profiles import find
from hisa.models.retry import FailureKind, TryFailed
from hisa.models.role_model import CallContext
from hisa.models.spending import Ledger
from hisa.models.tokens import estimate_input
from hisa.plugins.computer_use.responses_body import ACKNOWLEDGED, encode_responses, read_responses
from hisa.plugins.computer_use.responses_client import ResponsesModel
from hisa.plugins.computer_use.responses_server import ResponsesServer, computer_call
from hisa.protocols import ImagePart, Message, ModelReply, ModelRequest, TextPart, Usage
from hisa.testing.model_server import Fault, FaultKind
from tests.models.support import SCHEMA, Events, Waits, ask, picture

CLICK: dict[str, Any] = {"type": "click", "button": "left", "x": 9, "y": 8}
TOOL: dict[str, Any] = {
    "type": "computer_use_preview",
    "display_width": 64,
    "display_height": 36,
    "environment": "ubuntu",
}
FUNCTION: dict[str, Any] = {
    "type": "function",
    "name": "wait",
    "description": "Waits.",
    "parameters": {"type": "object", "properties": {"seconds": {"type": "number"}}},
    "strict": False,
}


def model(url: str, name: str = "computer-use-preview") -> ResponsesModel:
    settings = ModelSettings(model=name, timeout=20.0)
    return ResponsesModel(settings, Endpoint(url, "secret-key-1"), profile=find(name))


async def complete_once(
    server: ResponsesServer, request: ModelRequest, name: str = ""
) -> ModelReply:
    client = model(server.url, name or "computer-use-preview")
    try:
        return await client.complete(request)
    finally:
        await client.aclose()


def body(request: ModelRequest, name: str = "computer-use-preview") -> dict[str, Any]:
    sent = encode_responses(request, find(name), ModelSettings(model=name))
    # The library's own types say what the API takes.
    TypeAdapter(ResponseCreateParamsNonStreaming).validate_python(sent)
    return sent


async def test_the_request_that_is_sent() -> None:
    image = picture(5)
    request = ask("find it", step=12, image=image, tools=(TOOL, FUNCTION))
    with ResponsesServer([computer_call(CLICK, thought="There.")]) as server:
        reply = await complete_once(server, request)
    (sent,) = server.requests
    assert sent.path == "/v1/responses"
    assert (sent.headers["x-component"], sent.headers["x-step"]) == ("planner", "12")
    assert sent.headers["authorization"] == "Bearer secret-key-1"
    assert sent.body == json.loads(json.dumps(body(request)))
    assert (sent.body["truncation"], sent.body["store"]) == ("auto", False)
    assert "previous_response_id" not in sent.body
    assert "temperature" not in sent.body  # the profile says that the model refuses it
    assert sent.text == "# Global planner\nYou act.\nfind it"
    (shown,) = sent.images
    assert shown["detail"] == "high"
    assert base64.b64decode(shown["image_url"].partition(",")[2]) == image.png
    thinking, call = json.loads(reply.text)
    assert thinking["summary"][0]["text"] == "There."
    assert call["action"] == CLICK
    assert reply.usage.tokens_in > 0


async def test_a_request_without_tools_is_answered_in_words() -> None:
    with ResponsesServer(["Succeeded. It opened.", '{"tool": "x"}']) as server:
        assert (await complete_once(server, ask(role="state"))).text == "Succeeded. It opened."
        reply = await complete_once(server, ask(schema=SCHEMA), "gpt-5.4")
    assert json.loads(reply.text) == {"tool": "x"}
    first, second = (request.body for request in server.requests)
    assert not {"tools", "include", "reasoning", "truncation", "text"} & set(first)
    assert second["text"]["format"]["type"] == "json_schema"
    body(ask(schema=SCHEMA), "gpt-5.4")


def test_an_outputs_turn_follows_the_turn_with_the_calls() -> None:
    checks = [{"id": "sc_1", "code": "odd", "message": "Odd."}]
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "…"},
        {
            "type": "computer_call",
            "id": "cc_1",
            "call_id": "c1",
            "status": "completed",
            "action": {"type": "screenshot"},
            "pending_safety_checks": checks,
            ACKNOWLEDGED: checks,
        },
    ]
    messages = (
        Message("system", (TextPart("Act."),)),
        Message("user", (TextPart("state"),)),
        Message("assistant", (TextPart(json.dumps(items)),)),
        Message("user", (ImagePart(picture()),)),
        Message("assistant", (TextPart("plain words"),)),
        Message("user", (TextPart("more"),)),
    )
    sent = body(ModelRequest("planner", messages, tools=(TOOL,)))["input"]
    kinds = [item.get("type", item.get("role")) for item in sent]
    assert kinds == [
        "system",
        "user",
        "reasoning",
        "computer_call",
        "computer_call_output",
        "assistant",
        "user",
    ]
    assert ACKNOWLEDGED not in sent[3]
    assert (sent[4]["call_id"], sent[4][ACKNOWLEDGED]) == ("c1", checks)
    assert sent[4]["output"]["image_url"].startswith("data:image/png;base64,")
    assert sent[5]["content"] == "plain words"


@pytest.mark.parametrize("words", ['[{"bbox_2d": [1, 2, 3, 4]}]', "[]", '[{"type": "pattern"}]'])
def test_words_that_look_like_items_are_words_where_there_are_no_tools(words: str) -> None:
    sent = body(
        with_correction(ask(role="grounder"), ModelReply(words), "Answer in the other form.")
    )["input"]
    assert sent[-2] == {"role": "assistant", "content": words}
    assert sent[-1]["role"] == "user"


def test_usage_and_ends_are_read() -> None:
    def read(**more: Any) -> tuple[str, str, Usage | None]:
        response = {"output": [], "model": "m", **more}
        answer = read_responses(json.dumps(response).encode(), as_items=False)
        return answer.text, answer.finish, answer.usage

    usage = {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    assert read(usage=usage) == ("", "stop", Usage(9, 2, 4))
    assert read(usage={"input_tokens": True}, status="completed") == ("", "stop", None)
    thinking = {**usage, "output_tokens_details": {"reasoning_tokens": 2}}
    assert read(usage=thinking)[2] == Usage(9, 2, 4, 2)
    for hostile in (10, -1, "4", True, None, 10**12):
        lie = {
            **usage,
            "input_tokens_details": {"cached_tokens": hostile},
            "output_tokens_details": {"reasoning_tokens": hostile},
        }
        assert read(usage=lie)[2] == Usage(9, 2)
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert read(**cut)[1] == "length"
    assert read(status="incomplete", incomplete_details={"reason": "content_filter"})[1] == (
        "content_filter"
    )
    refusal = [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}, 3]}]
    assert read(output=refusal)[0] == "No."


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("status", "server"),
        ("cut_off", "malformed"),
        ("cut_connection", "connection"),
        ("html", "malformed"),
        ("error_body", "server"),
    ],
)
async def test_failures_are_those_of_chat_completions(
    kind: FaultKind, expected: FailureKind
) -> None:
    with ResponsesServer([Fault(kind)]) as server, pytest.raises(TryFailed) as caught:
        await complete_once(server, ask(tools=(TOOL,), image=picture()))
    assert caught.value.kind == expected


async def test_a_model_with_the_tool_has_retries_limits_and_ledger_like_any_other() -> None:
    events, ledger = Events(), Ledger()
    with ResponsesServer(
        [Fault("status", status=429), Fault("no_choices"), Fault("length"), computer_call(CLICK)]
    ) as server:
        planner = {"model": "computer-use-preview", "base_url": server.url}
        chosen = load(environ={}, overrides={"models": {"planner": planner}})
        context = CallContext(sleep=Waits())
        opened = open_models(
            chosen.models, chosen.planner, events, Budget(), ledger, environ={}, context=context
        )
        async with opened as models:
            request = ask(image=picture(), tools=(TOOL,))
            assert "computer_call" in (await models["planner"].complete(request)).text
            server.requests.clear()
            with pytest.raises(Exception, match="no more answers"):
                await models["state"].complete(ask(role="state"))
    assert [failure.kind for failure in events.failures] == [
        "rate_limit",
        "empty",
        "cut_off",
        "refused",
    ]
    assert [request.path for request in server.requests] == ["/v1/responses"]
    assert len(events.calls) == 3
    assert ledger.total.usd > 0
    assert estimate_input(request, image_tokens=0) > estimate_input(
        ask(image=picture()), image_tokens=0
    )


async def test_log_says_that_a_seed_is_not_sent() -> None:
    planner = {"model": "gpt-4o", "base_url": "http://127.0.0.1:9/v1", "seed": 4}
    tree = {"models": {"planner": planner}, "planner": {"kind": "computer"}}
    events = Events()
    chosen = load(environ={}, overrides=tree)
    opened = open_models(
        chosen.models,
        chosen.planner,
        events,
        Budget(),
        Ledger(),
        environ={},
    )
    async with opened as models:
        assert not models.profiles["planner"].seed
    assert "models.planner.seed is not sent" in str(events.all)
