"""Answers that come while they are written: gathered, limited in silence, time and size."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest

from hisa.config import ModelSettings
from hisa.errors import ModelUnavailable
from hisa.machine.bounded_http import ResponseTooLong
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profile import Profile
from hisa.models.profiles import find
from hisa.models.response_body import ChatStream, MalformedResponse
from hisa.models.retry import FailureKind, TryFailed
from hisa.models.role_model import CallContext
from hisa.protocols import ModelReply, Usage
from hisa.testing.model_server import FakeServer, Fault, FaultKind
from tests.models.support import Events, Waits, ask, client, role_model

LONG = " ".join(f"word{number}" for number in range(40))


def patient(url: str, *, timeout: float, total: float = 60.0) -> OpenAIModel:
    """A model whose two limits are set apart."""
    settings = ModelSettings(model="m", timeout=timeout, total_seconds=total)
    return OpenAIModel(settings, Endpoint(url), profile=find("m"))


async def _failure(kind: FaultKind, *, timeout: float = 30.0, total: float = 60.0) -> TryFailed:
    with FakeServer([Fault(kind, text=LONG)]) as server:
        openai_model = patient(server.url, timeout=timeout, total=total)
        try:
            with pytest.raises(TryFailed) as caught:
                async with asyncio.timeout(60):
                    await openai_model.complete(ask())
        finally:
            await openai_model.aclose()
    return caught.value


async def test_streamed_answer_equals_the_plain_one() -> None:
    reply = ModelReply(
        f"{LONG}\n  é \u2028 end ", Usage(70, 30, 20, 5), finish="length", model="m-2"
    )
    plain_profile = Profile(name="whole", streams=False)
    with FakeServer([reply, reply]) as server:
        for profile in (find("m"), plain_profile):
            openai_model = client(server.url, profile=profile)
            assert await openai_model.complete(ask()) == reply
            await openai_model.aclose()
    streamed, plain = (request.body for request in server.requests)
    assert streamed.pop("stream") is True
    assert streamed.pop("stream_options") == {"include_usage": True}
    assert streamed == plain


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("stream_end", "connection"), ("stream_cut", "connection"), ("stream_line", "too_long")],
)
async def test_half_an_answer_is_none(kind: FaultKind, expected: FailureKind) -> None:
    tracemalloc.start()
    try:
        failure = await _failure(kind)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert failure.kind == expected
    assert peak < 60 << 20


async def test_silence_within_an_answer_differs_from_none_at_all() -> None:
    failure = await _failure("stream_silence", timeout=0.3)
    assert (failure.kind, failure.began) == ("timeout", True)
    assert "began to answer (" in str(failure)
    assert "did not finish within 0.3 s" in str(failure)
    assert failure.fix == "--set models.planner.timeout=0.6"
    assert not (await _failure("hang", timeout=0.2)).began


@pytest.mark.parametrize("kind", ["drip", "stream_drip", "stream_comments"])
async def test_server_that_works_on_is_limited_in_its_total_time(kind: FaultKind) -> None:
    failure = await _failure(kind, timeout=30.0, total=0.5)
    assert (failure.kind, failure.began) == ("timeout", True)
    assert "did not finish within 0.5 s" in str(failure)
    assert failure.fix == "--set models.planner.total_seconds=1"


async def test_answer_that_had_begun_is_tried_once_more_only() -> None:
    events = Events()
    with FakeServer([Fault("status"), *[Fault("stream_silence", text=LONG)] * 4]) as server:
        openai_model = patient(server.url, timeout=0.3)
        model = role_model(openai_model, CallContext(events, sleep=Waits()), max_retries=5)
        with pytest.raises(ModelUnavailable, match=r"after 3 tries.*began to answer"):
            await model.complete(ask())
        await openai_model.aclose()
    assert [failure.kind for failure in events.failures] == ["server", "timeout", "timeout"]
    assert events.failures[-1].retry_in is None


async def test_progress_is_reported_and_not_logged() -> None:
    events, reports = Events(), list[tuple[str, str]]()
    with FakeServer([LONG]) as server:
        openai_model = client(server.url)
        context = CallContext(events, progress=lambda role, text: reports.append((role, text)))
        await role_model(openai_model, context).complete(ask(role="state"))
        await openai_model.aclose()
    assert reports[0] == ("state", "1 tokens")
    assert reports[-1] == ("state", "40 tokens")
    assert [event.type for event in events.all] == ["model_asked", "model_called"]


def _chunk(**delta: object) -> object:
    return {"choices": [{"delta": delta, "finish_reason": None}]}


@pytest.mark.parametrize(
    "data",
    ["{", [], {"choices": [3]}, {"choices": [{"delta": 3}]}, {"error": {"code": 500}}],
)
def test_stream_event_without_a_chunk_is_malformed(data: object) -> None:
    with pytest.raises(MalformedResponse):
        ChatStream().add(data)


def test_streamed_text_over_the_limit_is_refused() -> None:
    stream, chunk = ChatStream(), _chunk(content="x" * (1 << 20))
    for _ in range(8):
        stream.add(chunk)
    with pytest.raises(ResponseTooLong):
        stream.add(chunk)
