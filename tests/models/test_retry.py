"""Failures that are tried again, counted on a real server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.errors import ModelUnavailable
from hisa.models.retry import TryFailed, retry_after
from hisa.models.role_model import CallContext
from hisa.protocols import ModelReply
from hisa.testing.model_server import FakeServer, Fault
from hisa.testing.scripted import ScriptedModel
from tests.models.support import Events, Waits, ask, client, retrying, role_model

_FAULTS = [
    Fault("status", status=429, retry_after="9"),
    Fault("status", status=500),
    Fault("hang"),
    Fault("cut_off"),
    Fault("html"),
    Fault("empty"),
    Fault("no_choices"),
    Fault("length"),
    Fault("cut_connection"),
]
_KINDS = [
    "rate_limit",
    "server",
    "timeout",
    "malformed",
    "malformed",
    "empty",
    "empty",
    "cut_off",
    "connection",
]


async def test_a_call_survives_every_fault_and_each_is_an_event() -> None:
    events, waits = Events(), Waits()
    with FakeServer([*_FAULTS, "at last"]) as server:
        openai_model = client(server.url, timeout=0.3)
        model = retrying(openai_model, events, waits, max_retries=len(_FAULTS))
        reply = await model.complete(ask())
        await openai_model.aclose()
    assert reply.text == "at last"
    assert len(server.requests) == len(_FAULTS) + 1
    assert [failure.kind for failure in events.failures] == _KINDS
    assert {(f.role, f.model) for f in events.failures} == {("planner", "anything")}
    assert [failure.retry_in for failure in events.failures] == waits.seconds


async def test_waits_double_up_to_a_cap_and_honour_the_server() -> None:
    events, waits = Events(), Waits()
    script = [TryFailed("down", "server")] * 8
    script[4] = TryFailed("slow down", "rate_limit", retry_after=45.0)
    await retrying(ScriptedModel([*script, "ok"]), events, waits, max_retries=8).complete(ask())
    assert waits.seconds == [1, 2, 4, 8, 45, 30, 30, 30]


async def test_never_more_tries_than_the_setting() -> None:
    events, waits = Events(), Waits()
    with FakeServer([Fault("status", status=503, text="overloaded")] * 20) as server:
        openai_model = client(server.url)
        with pytest.raises(ModelUnavailable, match=r"after 3 tries.*overloaded") as caught:
            await retrying(openai_model, events, waits, max_retries=2).complete(ask())
        await openai_model.aclose()
    assert len(server.requests) == 3
    assert len(waits.seconds) == 2
    assert events.failures[-1].retry_in is None
    assert not isinstance(caught.value, TryFailed)
    assert caught.value.fix


async def test_a_refusal_is_final() -> None:
    events, waits = Events(), Waits()
    with FakeServer([Fault("status", status=401, text="bad key"), "never asked for"]) as server:
        openai_model = client(server.url)
        with pytest.raises(ModelUnavailable, match="bad key") as caught:
            await retrying(openai_model, events, waits).complete(ask())
        await openai_model.aclose()
    assert (len(server.requests), waits.seconds) == (1, [])
    assert [(f.kind, f.status, f.retry_in) for f in events.failures] == [("refused", 401, None)]
    assert "export OPENAI_API_KEY=" in caught.value.fix


@pytest.mark.parametrize(
    ("finish", "tries"),
    [("stop", 1), ("end_turn", 1), ("length", 2), ("content_filter", 2), ("", 2)],
)
async def test_an_empty_answer_is_one_where_the_request_says_so(finish: str, tries: int) -> None:
    model = ScriptedModel([ModelReply("", finish=finish), "text"])
    retrying_model = role_model(model, CallContext(sleep=Waits()), max_retries=3)
    reply = await retrying_model.complete(ask(may_be_empty=True))
    assert len(model.requests) == tries
    assert reply.text == ("" if tries == 1 else "text")


async def test_secrets_stay_out_of_events_and_errors() -> None:
    events = Events()
    inner = ScriptedModel([TryFailed("key sk-abcdefghijklmnop0123 is bad", "refused")])
    model = role_model(inner, CallContext(events), max_retries=5)
    with pytest.raises(ModelUnavailable) as caught:
        await model.complete(ask())
    shown = str(caught.value) + events.failures[0].message
    assert "sk-abcdef" not in shown
    assert shown.count("[redacted]") == 2


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("3", 3.0),
        ("1.5", 1.5),
        ("-4", 0.0),
        ("86400", 60.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 2099 00:00:00 GMT", 60.0),
    ],
)
def test_retry_after_header(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


@given(st.text())
def test_retry_after_is_bounded_whatever_comes(header: str) -> None:
    seconds = retry_after(header)
    assert seconds is None or 0.0 <= seconds <= 60.0
