"""Servers that refuse a part of a request: it is sent without it, once, or a person hears why."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.config import ModelSettings
from hisa.errors import ModelUnavailable
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import Profile, find
from hisa.models.retry import TryFailed
from hisa.protocols import Message, ModelRequest, TextPart
from hisa.testing import FakeEnvironment, Received, tool_call
from hisa.testing.model_server import Fault
from tests.models.recorded import (
    PICTURES_REFUSED,
    SCHEMA_REFUSED,
    SYSTEM_REFUSED,
    TURNS_REFUSED,
    RecordedServer,
)
from tests.models.support import SCHEMA, Events, Waits, ask, client, picture, retrying

Refuses = Callable[[Received], bool]


def refusing(refusal: Fault, refuses: Refuses) -> RecordedServer:
    return RecordedServer(then=lambda got: refusal if refuses(got) else "fine")


def roles(received: Received) -> list[str]:
    return [message["role"] for message in received.body["messages"]]


def twice_the_same(names: list[str]) -> bool:
    return any(a == b for a, b in pairwise(names))


async def complete(model: OpenAIModel, *requests: ModelRequest) -> list[str]:
    try:
        return [(await model.complete(request)).text for request in requests]
    finally:
        await model.aclose()


@pytest.mark.parametrize("name", SCHEMA_REFUSED)
async def test_a_refused_response_format_is_left_out_from_then_on(name: str) -> None:
    with refusing(SCHEMA_REFUSED[name], lambda got: "response_format" in got.body) as server:
        model = client(server.url, model="gpt-4o")
        assert await complete(model, ask(schema=SCHEMA), ask(schema=SCHEMA)) == ["fine", "fine"]
    sent = ["response_format" in request.body for request in server.requests]
    assert sent == [True, False, False]


async def test_requests_that_are_refused_at_once_are_all_sent_again() -> None:
    refusal = replace(SCHEMA_REFUSED["DeepSeek"], at_once=threading.Barrier(2))
    with refusing(refusal, lambda got: "response_format" in got.body) as server:
        model = client(server.url, model="gpt-4o")
        asked = [model.complete(ask(schema=SCHEMA)) for _ in range(2)]
        assert [reply.text for reply in await asyncio.gather(*asked)] == ["fine", "fine"]
        await model.aclose()
    assert len(server.requests) == 4


async def test_a_refusal_of_something_else_is_not_sent_again() -> None:
    with RecordedServer(then=lambda _: Fault("status", status=400, text="no such model")) as server:
        model = client(server.url, model="gpt-4o")
        with pytest.raises(TryFailed, match="no such model"):
            await complete(model, ask(schema=SCHEMA))
    assert len(server.requests) == 1


async def test_an_unconstrained_model_is_sent_no_response_format() -> None:
    with RecordedServer(then=lambda _: "fine") as server:
        settings = ModelSettings(model="gpt-4o", constrain=False)
        model = OpenAIModel(settings, Endpoint(server.url, "k"), profile=find("gpt-4o"))
        await complete(model, ask(schema=SCHEMA))
    assert "response_format" not in server.requests[0].body


@pytest.mark.parametrize("name", PICTURES_REFUSED)
async def test_refused_pictures_are_told_at_the_first_try(name: str) -> None:
    with refusing(PICTURES_REFUSED[name], lambda got: bool(got.images)) as server:
        events, waits = Events(), Waits()
        inner = client(server.url)
        with pytest.raises(ModelUnavailable) as caught:
            await retrying(inner, events, waits).complete(ask(image=picture()))
        await inner.aclose()
    assert len(server.requests) == 1, waits.seconds
    assert "--set planner.sees=elements" in caught.value.fix


async def test_a_server_that_only_stumbled_over_a_picture_is_asked_again() -> None:
    stumble = Fault("status", status=500, text="worker 3 died while it read the image")
    with RecordedServer([stumble, "fine"]) as server:
        inner = client(server.url)
        reply = await retrying(inner, Events(), Waits()).complete(ask(image=picture()))
        await inner.aclose()
    assert reply.text == "fine"


@pytest.mark.parametrize("name", SYSTEM_REFUSED)
async def test_a_refused_system_message_begins_the_users(name: str) -> None:
    with refusing(SYSTEM_REFUSED[name], lambda got: "system" in roles(got)) as server:
        texts = await complete(client(server.url), ask("one", image=picture()), ask("two"))
    assert texts == ["fine", "fine"]
    assert [roles(request) for request in server.requests] == [
        ["system", "user"],
        ["user"],
        ["user"],
    ]
    assert server.requests[-1].text == "# Global planner\nYou act.\ntwo"


@pytest.mark.parametrize("name", TURNS_REFUSED)
async def test_turns_of_one_side_are_joined_where_they_are_refused(name: str) -> None:
    request = ask("one")
    again = Message("user", (TextPart("two"),))
    request = ModelRequest("planner", (*request.messages, again))
    with refusing(TURNS_REFUSED[name], lambda got: twice_the_same(roles(got))) as server:
        assert await complete(client(server.url), request) == ["fine"]
    assert roles(server.requests[-1]) == ["user"]
    assert server.requests[-1].text == "# Global planner\nYou act.\none\ntwo"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"system_as": "user"}, ["user", "user"]),
        ({"strict_turns": True}, ["system", "user"]),
        ({"system_as": "user", "strict_turns": True}, ["user"]),
    ],
)
async def test_a_profile_says_which_turns_a_model_takes(
    keys: dict[str, Any], expected: list[str]
) -> None:
    profile = find("anything").model_copy(update=Profile(name="x", **keys).model_dump())
    request = ask("one")
    request = ModelRequest("planner", (*request.messages, Message("user", (TextPart("two"),))))
    with RecordedServer(then=lambda _: "fine") as server:
        await complete(client(server.url, profile=profile), request)
    (sent,) = server.requests
    assert roles(sent) == expected
    assert sent.text.endswith("You act.\none\ntwo")


def reply_without_pictures(received: Received) -> str | Fault:
    """A server of a model without eyes: its planner presses a button once, then ends."""
    if received.images:
        return PICTURES_REFUSED["llama.cpp"]
    if received.role != "planner":
        return "Succeeded. It did."
    click = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "Save")
    return click if received.step == 1 else tool_call("termination", "done")


@pytest.mark.parametrize("sees", ["picture", "elements"])
async def test_what_is_told_on_refused_pictures_helps(sees: str, tmp_path: Path) -> None:
    with RecordedServer(then=reply_without_pictures) as server:
        tree = {
            "patterns": {"enabled": False},
            "run": {"folder": tmp_path},
            "planner": {"sees": sees},
            "models": {"planner": {"model": "m", "base_url": server.url}},
        }
        result = await hisa.run(
            hisa.Task("form", "Save."),
            settings=hisa.Settings.model_validate(tree),
            environment=FakeEnvironment(),
        )
    if sees == "picture":
        assert (result.status, len(server.requests)) == ("model_error", 1)
        assert "planner.sees=elements" in result.message
    else:
        assert result.status == "succeeded", result.message
        assert not any(request.images for request in server.requests)
