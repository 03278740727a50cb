"""Servers that refuse a part of a request: it is sent without it, once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hisa.config import ModelSettings
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import Profile, find
from hisa.models.retry import TryFailed
from hisa.protocols import ModelRequest
from hisa.testing import ReceivedRequest
from hisa.testing.model_server import Fault
from tests.models.recorded import SCHEMA_REFUSED, RecordedServer
from tests.models.support import SCHEMA, ask, client

STREAM_REFUSED = Fault("status", status=400, text="verify your account to stream this model")


def refusing(refusal: Fault, refuses: Callable[[ReceivedRequest], bool]) -> RecordedServer:
    return RecordedServer(then=lambda got: refusal if refuses(got) else "fine")


async def complete(model: OpenAIModel, *requests: ModelRequest) -> list[str]:
    try:
        return [(await model.complete(request)).text for request in requests]
    finally:
        await model.aclose()


@pytest.mark.parametrize("name", [*SCHEMA_REFUSED, "a stream"])
async def test_a_refused_part_is_left_out_from_then_on(name: str) -> None:
    part = "response_format" if name in SCHEMA_REFUSED else "stream"
    refusal = SCHEMA_REFUSED.get(name, STREAM_REFUSED)
    with refusing(refusal, lambda got: part in got.body) as server:
        model = client(server.url, model="gpt-4o")
        assert await complete(model, ask(schema=SCHEMA), ask(schema=SCHEMA)) == ["fine", "fine"]
    assert [part in request.body for request in server.requests] == [True, False, False]


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


async def test_a_system_message_begins_the_users_where_a_profile_says_so() -> None:
    with RecordedServer(then=lambda _: "fine") as server:
        await complete(client(server.url, profile=Profile(name="x", system_as="user")), ask("one"))
    (sent,) = server.requests
    assert [message["role"] for message in sent.body["messages"]] == ["user"]
    assert sent.text == "# Global planner\nYou act.\none"
