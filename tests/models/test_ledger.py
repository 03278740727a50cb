from __future__ import annotations

import pytest

from hisa.events import Event, ModelFailed, event_adapter
from hisa.models.profiles import find
from hisa.models.role_model import CallContext, RoleModel
from hisa.models.spending import Ledger
from hisa.protocols import ModelReply, ModelRequest, Usage
from hisa.testing.scripted import FunctionModel
from tests.models.support import Clock, Events, ask, picture, spent


def test_sums_by_role_and_over_all() -> None:
    ledger = Ledger()
    cached = spent(seconds=2.5, cached_in=8, reasoning_out=3)
    for event in (spent(images=1), spent(role="state", tokens_in=100, cached_in=64), cached):
        ledger.add(event)
    assert ledger.roles["planner"].as_dict() == {
        "calls": 2,
        "tokens_in": 20,
        "fresh_in": 12,
        "cached_in": 8,
        "tokens_out": 10,
        "reasoning_out": 3,
        "images": 1,
        "usd": 0.02,
        "unpriced": 0,
        "seconds": 2.5,
    }
    assert (ledger.total.calls, ledger.total.tokens, ledger.total.images) == (3, 135, 1)
    assert ledger.total.usd == 0.03
    assert (ledger.total.fresh_in, ledger.total.cached_in) == (48, 72)


def test_a_resumed_run_has_the_same_ledger() -> None:
    events: list[Event] = [
        spent(),
        ModelFailed(role="planner", model="m", kind="server"),
        spent(role="judge"),
    ]
    read_back = [event_adapter.validate_json(event.model_dump_json()) for event in events]
    assert Ledger.from_events(read_back).roles == Ledger.from_events(events).roles
    assert Ledger.from_events(read_back).total.calls == 2


async def test_every_reply_is_an_event() -> None:
    events, clock = Events(), Clock()

    def answer(request: ModelRequest) -> ModelReply:
        clock.now += 1.5
        return ModelReply("yes", Usage(1_000_000, 100_000, 0, 60_000), finish="stop")

    context = CallContext(events, clock=clock)
    model = RoleModel(FunctionModel(answer, name="big"), context, profile=find("gpt-5"))
    request = ask("hello", role="state", image=picture())
    await model.complete(request)
    (call,) = events.calls
    assert (call.role, call.model, call.finish) == ("state", "big", "stop")
    assert (call.tokens_in, call.tokens_out, call.images) == (1_000_000, 100_000, 1)
    assert call.reasoning_out == 60_000
    assert call.usd == pytest.approx(2.25)
    assert call.seconds == 1.5
