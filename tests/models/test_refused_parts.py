"""What a profile and a setting leave out of a request; nothing is left out by trial."""

from __future__ import annotations

import pytest

from hisa.config import ModelSettings
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import Profile, find
from hisa.models.retry import TryFailed
from hisa.protocols import ModelRequest
from hisa.testing.model_server import Fault
from tests.models.recorded import RecordedServer
from tests.models.support import SCHEMA, ask, client


async def complete(model: OpenAIModel, *requests: ModelRequest) -> list[str]:
    try:
        return [(await model.complete(request)).text for request in requests]
    finally:
        await model.aclose()


async def test_a_refused_part_is_not_left_out_by_trial() -> None:
    refusal = "'response_format' of type 'json_schema' is not supported with this model"
    with RecordedServer(then=lambda _: Fault("status", status=400, text=refusal)) as server:
        model = client(server.url, model="gpt-4o")
        with pytest.raises(TryFailed, match="not supported") as caught:
            await complete(model, ask(schema=SCHEMA))
    assert "profile=FILE.toml" in caught.value.fix
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
