"""The whole stack: retries around budget around ledger around the client."""

from __future__ import annotations

from typing import Any

import pytest

from hisa.config import Settings
from hisa.errors import BudgetExceeded, ModelUnavailable
from hisa.events import Noted
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models
from hisa.models.role_model import CallContext
from hisa.models.spending import Ledger
from hisa.plugins.offline.offline_model import OfflineModel
from hisa.protocols import Model, ModelReply, Role, Usage
from hisa.testing.model_server import FakeServer, Fault
from hisa.testing.scripted import FunctionModel
from tests.models.support import Clock, Events, Waits, ask


def _settings(**models: dict[str, Any]) -> Settings:
    return Settings.model_validate({"models": models})


def _open(
    settings: Settings,
    url: str = "",
    *,
    budget: Budget | None = None,
    events: Events | None = None,
    ledger: Ledger | None = None,
    waits: Waits | None = None,
) -> Models:
    return open_models(
        settings.models,
        settings.planner,
        events or Events(),
        budget or Budget(),
        ledger or Ledger(),
        environ={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "key-of-the-house"},
        context=CallContext(sleep=waits or Waits()),
    )


async def test_every_role_follows_the_planner() -> None:
    events, ledger = Events(), Ledger()
    with FakeServer(then=lambda request: request.role) as server:
        settings = _settings(planner={"model": "gpt-5"})
        async with _open(settings, server.url, events=events, ledger=ledger) as models:
            assert set(models) == {"planner", "state", "grounder", "judge"}
            for role, model in models.items():
                assert model.name == "gpt-5"
                assert (await model.complete(ask(role=role))).text == role
    assert [request.role for request in server.requests] == list(models)
    assert {request.body["model"] for request in server.requests} == {"gpt-5"}
    assert ledger.total.calls == len(events.calls) == 4
    assert {name: totals.calls for name, totals in ledger.roles.items()} == dict.fromkeys(models, 1)


async def test_role_may_have_its_own_server_and_profile() -> None:
    with FakeServer(["big"]) as big, FakeServer(["small"]) as small:
        settings = _settings(
            planner={"model": "gpt-5", "base_url": big.url},
            state={"model": "tiny", "base_url": small.url, "profile": "local"},
        )
        async with _open(settings) as models:
            assert models.profiles["planner"].name == "gpt-5"
            assert models.profiles["state"].name == "local"
            assert (await models["planner"].complete(ask())).text == "big"
            assert (await models["state"].complete(ask(role="state"))).text == "small"
    assert big.requests[0].body["model"] == "gpt-5"
    assert small.requests[0].body["model"] == "tiny"


async def test_the_offline_planner_brings_no_grounder_and_no_judge() -> None:
    async with _open(Settings()) as models:
        assert set(models) == {"planner", "state"}
        assert models["planner"].name == OfflineModel.title
        assert models.profiles["planner"].reads_elements


async def test_own_models_take_the_place_of_those_in_the_settings_and_are_counted() -> None:
    events, ledger = Events(), Ledger()
    settings = _settings(
        planner={"model": "gpt-5", "base_url": "http://127.0.0.1:1/v1"},
        grounder={"model": "gta1-7b", "base_url": "http://127.0.0.1:1/v1"},
    )
    own: dict[Role, Model] = {"planner": FunctionModel(lambda request: request.role)}
    opened = open_models(
        settings.models, settings.planner, events, Budget(), ledger, own=own, environ={}
    )
    async with opened as models:
        assert {role: model.name for role, model in models.items()} == {
            "planner": "function",
            "state": "function",
            "grounder": "gta1-7b",
        }
        assert (await models["state"].complete(ask(role="state"))).text == "state"
    assert [call.role for call in events.calls] == ["state"]
    assert ledger.total.calls == 1


async def test_every_try_is_in_the_ledger_and_checked_against_the_budget() -> None:
    events, ledger, waits = Events(), Ledger(), Waits()
    wasted = ModelReply("", Usage(400_000, 50_000), finish="length")
    with FakeServer([wasted, "never asked for"]) as server:
        opened = _open(
            _settings(planner={"model": "gpt-5"}),
            server.url,
            budget=Budget(1.0),
            events=events,
            ledger=ledger,
            waits=waits,
        )
        async with opened as models:
            with pytest.raises(BudgetExceeded, match=r"\$1 reached: \$1\.0000 spent"):
                await models["planner"].complete(ask())
    assert len(server.requests) == 1
    assert [event.type for event in events.all] == ["model_asked", "model_called", "model_failed"]
    assert ledger.total.usd == pytest.approx(1.0)


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    waits, clock = Waits(), Clock()
    with FakeServer([Fault("status", status=429, retry_after="30"), "late"]) as server:
        opened = _open(
            _settings(planner={"model": "m"}),
            server.url,
            budget=Budget(seconds=20, clock=clock),
            waits=waits,
        )
        async with opened as models:
            with pytest.raises(BudgetExceeded, match="time limit"):
                await models["planner"].complete(ask())
    assert (len(server.requests), waits.seconds) == (1, [])


async def test_the_key_in_a_servers_answer_is_not_logged() -> None:
    events = Events()
    fault = Fault("status", status=401, text="key key-of-the-house is not known")
    with FakeServer([fault]) as server:
        async with _open(_settings(planner={"model": "m"}), server.url, events=events) as models:
            with pytest.raises(ModelUnavailable, match=r"key \[redacted\] is not known"):
                await models["planner"].complete(ask())
    assert server.requests[0].headers["authorization"] == "Bearer key-of-the-house"
    assert "key-of-the-house" not in events.failures[0].model_dump_json()


async def test_dollars_without_a_price_are_noted_once_and_run() -> None:
    events = Events()
    models = {"planner": {"model": "mine"}, "state": {"model": "gpt-4o"}}
    with FakeServer(["yes"]) as server:
        async with _open(
            _settings(**models), server.url, budget=Budget(1.0), events=events
        ) as by_role:
            assert (await by_role["planner"].complete(ask())).text == "yes"
    (noted,) = [event for event in events.all if isinstance(event, Noted)]
    assert noted.where == "budget"
    assert noted.text.startswith("the price of mine is not known: for the limit of $1 its tokens")
    assert "$15 in and $60 out per million (o1" in noted.text
    assert events.calls[0].usd is None


async def test_how_a_role_is_sampled_is_a_setting() -> None:
    models = {
        "planner": {"model": "mine", "temperature": 0.7, "top_p": 0.9, "seed": 3},
        "state": {"model": "gpt-5", "temperature": 0.7, "seed": 3},
        "judge": {"model": "claude-sonnet-4-5", "top_p": 0.9},
    }
    events = Events()
    with FakeServer(["a", "b", "c"]) as server:
        async with _open(_settings(**models), server.url, events=events) as by_role:
            for role in ("planner", "state", "judge"):
                await by_role[role].complete(ask(role=role))
        sampled = [
            {
                name: request.body[name]
                for name in ("temperature", "top_p", "seed")
                if name in request.body
            }
            for request in server.requests
        ]
    assert sampled == [{"temperature": 0.7, "top_p": 0.9, "seed": 3}, {}, {"top_p": 0.9}]
    notes = [event.text.partition(":")[0] for event in events.all if isinstance(event, Noted)]
    assert notes == ["models.state.temperature is not sent", "models.state.seed is not sent"]


async def test_open_weights_cost_nothing_at_home_only() -> None:
    home, away = Events(), Events()
    settings = _settings(planner={"model": "Qwen/Qwen3-VL-8B-Instruct"})
    with FakeServer(["a"]) as server:
        async with _open(settings, server.url, budget=Budget(1.0), events=home) as by_role:
            await by_role["planner"].complete(ask())
            assert by_role.profiles["planner"].coordinates == "thousand"
    assert home.calls[0].usd == 0.0
    async with _open(settings, "https://models.example/v1", budget=Budget(1.0), events=away):
        pass
    assert [event.where for event in away.all if isinstance(event, Noted)] == ["budget"]
