"""Calls that the server tells apart from the text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hisa.errors import InvalidReply
from hisa.models.response_body import ChatStream, read_response
from hisa.planner.reply import parse_reply
from tests.models.recorded import Recorded, RecordedServer
from tests.models.support import Events, Waits, ask, client, retrying

CLICK = {
    "thought": "t",
    "tool": "gui_action",
    "input": "pyautogui.click(X_COORD, Y_COORD)",
    "description": "Save",
}


def called(name: str, arguments: object, id_: str = "c1") -> dict[str, Any]:
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def saying(**message: object) -> Recorded:
    message = {"role": "assistant", "content": None, **message}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return Recorded(status=200, body=json.dumps({"choices": [choice]}))


async def text_of(answer: Recorded, role: Any = "planner") -> str:
    with RecordedServer([answer] * 6) as server:
        inner = client(server.url)
        try:
            asked = retrying(inner, Events(), Waits(), max_retries=2)
            return (await asked.complete(ask(role=role))).text
        finally:
            await inner.aclose()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("bash_execution", {"command": "ls"}, {"command": "ls"}),
        ("bash_execution", {"input": "ls"}, "ls"),
        ("bash_execution", '"ls"', "ls"),
        ("reply", {**CLICK, "tool": "bash_execution", "input": "ls"}, "ls"),
        ("look", "", {}),
    ],
)
async def test_a_call_that_the_server_tells_apart_is_the_call(
    name: str, arguments: object, expected: object
) -> None:
    call = parse_reply(await text_of(saying(tool_calls=[called(name, arguments)])))
    assert call.input == expected
    assert call.tool == ("bash_execution" if name == "reply" else name)


async def test_a_place_to_be_found_comes_with_the_call() -> None:
    arguments = {key: CLICK[key] for key in ("input", "description")}
    answer = saying(content="I press it.", tool_calls=[called("gui_action", arguments)])
    call = parse_reply(await text_of(answer))
    assert (call.description, len(call.actions)) == ("Save", 1)


async def test_of_several_calls_none_is_chosen() -> None:
    calls = [called("wait", {"input": "1"}), called("bash_execution", {"input": "ls"}, "c2")]
    with pytest.raises(InvalidReply, match="2 objects"):
        parse_reply(await text_of(saying(tool_calls=calls)))
    with pytest.raises(InvalidReply, match="2 objects"):
        parse_reply(await text_of(saying(content=json.dumps(CLICK), tool_calls=calls[:1])))


async def test_broken_arguments_are_no_call() -> None:
    with pytest.raises(InvalidReply, match="not valid JSON"):
        parse_reply(await text_of(saying(tool_calls=[called("bash_execution", '{"input": "rm')])))


@pytest.mark.parametrize("more", [{"index": 0}, {}])
def test_calls_in_a_stream_are_put_together(more: dict[str, Any]) -> None:
    stream = ChatStream()
    first, second = called("wait", '{"seco'), called("bash_execution", '{"command": "ls"}', "c2")
    rest = {"function": {"arguments": 'nds": 2}'}}
    for entry in (first, rest, second):
        delta = {"tool_calls": [{**entry, **more}]}
        stream.add({"choices": [{"index": 0, "delta": delta}]})
    calls = stream.answer().calls
    assert [(call.name, call.arguments) for call in calls] == [
        ("wait", '{"seconds": 2}'),
        ("bash_execution", '{"command": "ls"}'),
    ]


@pytest.mark.parametrize("calls", [7, [3], [{"function": 3}], [{"function": {"name": [1]}}], [{}]])
def test_calls_that_are_none_do_no_harm(calls: object) -> None:
    message = {"role": "assistant", "content": "ls", "tool_calls": calls}
    assert read_response(json.dumps({"choices": [{"message": message}]}).encode()).text == "ls"
