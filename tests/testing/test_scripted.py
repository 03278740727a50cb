from __future__ import annotations

import pytest

from hisa.errors import ModelUnavailable, ScriptExhausted
from hisa.protocols import ModelReply, ModelRequest
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.models.support import ask


async def test_script_is_played_in_order_and_requests_are_stored() -> None:
    model = ScriptedModel(["one", ModelReply("two", finish="length", model="big")])
    first, second = await model.complete(ask("a")), await model.complete(ask("b"))
    assert (first.text, first.model, first.finish) == ("one", "scripted", "stop")
    assert (second.text, second.model, second.finish) == ("two", "big", "length")
    assert [request.messages[1].parts for request in model.requests] == [
        ask("a").messages[1].parts,
        ask("b").messages[1].parts,
    ]


async def test_scripted_exception_is_raised_and_the_script_goes_on() -> None:
    model = ScriptedModel([ModelUnavailable("gone"), "back"])
    with pytest.raises(ModelUnavailable, match="gone"):
        await model.complete(ask())
    assert (await model.complete(ask())).text == "back"


async def test_running_out_names_model_role_and_step() -> None:
    model = ScriptedModel(["only"], name="pilot")
    await model.complete(ask())
    with pytest.raises(ScriptExhausted, match=r"'pilot'.*call 2.*'state', step 9.*1 replies"):
        await model.complete(ask(role="state", step=9))


async def test_function_sees_the_request() -> None:
    model = FunctionModel(lambda request: f"{request.role} at {request.step}")
    assert (await model.complete(ask(step=7))).text == "planner at 7"
    assert len(model.requests) == 1


async def test_function_may_be_async_and_return_a_reply() -> None:
    async def answer(request: ModelRequest) -> ModelReply:
        return ModelReply(request.text[-1], finish="length")

    reply = await FunctionModel(answer, name="echo").complete(ask("xyz"))
    assert (reply.text, reply.finish) == ("z", "length")
