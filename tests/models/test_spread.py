"""Several servers of one model: who is asked, who rests, and what is said of it.

The roles beside the grounder are those of `hisa.plugins.offline`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from hisa.config import Settings, load
from hisa.errors import ConfigError, ModelUnavailable
from hisa.events import Noted
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models
from hisa.models.role_model import CallContext
from hisa.models.spending import Ledger
from hisa.models.spread import REST_SECONDS, SpreadModel
from hisa.protocols import Model
from hisa.testing.model_server import FakeServer, Fault, Received
from tests.models.support import Clock, Events, Waits, ask, client


def _settings(*addresses: str, **more: Any) -> Settings:
    grounder = {"model": "gta1-32b", "base_url": list(addresses), **more}
    return Settings.model_validate({"models": {"grounder": grounder}})


def _open(settings: Settings, events: Events, waits: Waits | None = None) -> Models:
    context = CallContext(sleep=waits or Waits())
    return open_models(
        settings.models, settings.planner, events, Budget(), Ledger(), environ={}, context=context
    )


def _dead() -> str:
    """The address of a server that is gone."""
    with FakeServer() as server:
        return server.url


def _notes(events: Events) -> list[str]:
    return [e.text for e in events.all if isinstance(e, Noted) and e.where == "models"]


async def test_calls_are_spread_evenly_over_servers_that_answer() -> None:
    always: Callable[[Received], str] = lambda _: "(1,2)"  # noqa: E731
    with FakeServer(then=always) as one, FakeServer(then=always) as two:
        async with _open(_settings(one.url, two.url), Events()) as models:
            for _ in range(6):
                await models["grounder"].complete(ask(role="grounder"))
    assert (len(one.requests), len(two.requests)) == (3, 3)


async def test_a_slow_server_gets_no_second_call_while_it_is_at_work() -> None:
    release = threading.Event()

    def late(_: Received) -> str:
        assert release.wait(60)
        return "late"

    with FakeServer(then=late) as slow, FakeServer(then=lambda _: "quick") as quick:
        async with _open(_settings(slow.url, quick.url), Events()) as models:
            model = models["grounder"]
            both = [asyncio.create_task(model.complete(ask(role="grounder"))) for _ in range(2)]
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result().text for task in done] == ["quick"]
            texts = [(await model.complete(ask(role="grounder"))).text for _ in range(5)]
            release.set()
            await asyncio.gather(*both)
    assert texts == ["quick"] * 5
    assert (len(slow.requests), len(quick.requests)) == (1, 6)


async def test_a_dead_server_is_passed_over_at_once_and_named_in_a_note() -> None:
    dead, events, waits = _dead(), Events(), Waits()
    with FakeServer(then=lambda _: "(1,2)") as alive:
        # Not even one retry is allowed: asking the other server is none.
        async with _open(_settings(dead, alive.url, max_retries=0), events, waits) as models:
            for _ in range(4):
                assert (await models["grounder"].complete(ask(role="grounder"))).text == "(1,2)"
    assert len(alive.requests) == 4
    assert len(events.failures) == 1
    assert dead in events.failures[0].message
    assert waits.seconds == [0.0]
    (note,) = _notes(events)
    assert note.startswith(f"{dead} is passed over for 30 s: ")


async def test_a_server_that_rested_is_asked_again() -> None:
    clock, events = Clock(), Events()
    with (
        FakeServer([Fault("status", status=503)], then=lambda _: "back") as sick,
        FakeServer(then=lambda _: "well") as well,
    ):
        clients: dict[str, Model] = {url: client(url) for url in (sick.url, well.url)}
        model = SpreadModel(clients, emit=events, hide=str, clock=clock)
        for _ in range(3):
            with suppress(ModelUnavailable):
                await model.complete(ask())
        assert len(sick.requests) == 1
        clock.now += REST_SECONDS
        texts = {(await model.complete(ask())).text for _ in range(2)}
        await model.aclose()
    assert "back" in texts
    assert _notes(events)[0].startswith(f"{sick.url} is passed over")
    assert _notes(events)[-1] == f"{sick.url} answers again"


async def test_where_no_server_answers_the_error_names_each() -> None:
    dead, events = _dead(), Events()
    with FakeServer(then=lambda _: Fault("status", status=404, text="no such model")) as other:
        async with _open(_settings(dead, other.url, max_retries=1), events) as models:
            with pytest.raises(ModelUnavailable, match="none of its 2 servers answers") as caught:
                await models["grounder"].complete(ask(role="grounder"))
    assert dead in str(caught.value)
    assert other.url in str(caught.value)
    assert len(events.failures) == 3  # one was passed on, and one retry


async def test_what_a_server_refuses_as_such_is_not_taken_to_the_others() -> None:
    refusal = Fault("status", status=400, text="the prompt is too long")
    with FakeServer(then=lambda _: refusal) as one, FakeServer(then=lambda _: refusal) as two:
        events = Events()
        async with _open(_settings(one.url, two.url), events) as models:
            with pytest.raises(ModelUnavailable, match="the prompt is too long"):
                await models["grounder"].complete(ask(role="grounder"))
    assert len(one.requests) + len(two.requests) == 1
    assert not _notes(events)


def test_a_list_is_given_as_a_setting_and_a_bad_one_is_named() -> None:
    named = ["models.grounder.model=gta1", 'models.grounder.base_url=["http://a/v1", "http://b"]']
    grounder = load(None, named, environ={}).models.grounder
    assert grounder is not None
    assert [server.base_url for server in grounder.servers] == ["http://a/v1", "http://b"]
    with pytest.raises(ConfigError, match=r"models\.grounder\.base_url.*at least 1"):
        load(None, [named[0], "models.grounder.base_url=[]"], environ={})
    wrong = _settings("http://a/v1", "ftp://b")
    with pytest.raises(ConfigError, match="ftp://b"):
        _open(wrong, Events())
