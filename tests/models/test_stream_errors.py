"""Errors that come in place of the rest of an answer: a failed try in the provider's words."""

from __future__ import annotations

import json

import pytest

from hisa.models.retry import TryFailed
from tests.models.recorded import Recorded, RecordedServer, events, piece
from tests.models.support import Events, Waits, ask, client, retrying

GONE = "Provider disconnected"
ERROR = {"code": "server_error", "message": GONE}
RAW = {"message": "Provider returned error", "code": 502, "metadata": {"raw": GONE}}
FULL_ANSWER = piece("whole answer", "stop")
BROKEN = {
    "OpenRouter, beside a choice": events(
        piece("half"), {**piece("", "error"), "error": ERROR, "id": "x"}
    ),
    "OpenRouter, a provider's": events(piece("half"), {**piece("", "error"), "error": RAW}),
    "in a choice": events(piece("half"), piece("", "error", error=ERROR)),
    "in the first chunk, before a whole answer": events({**piece(""), "error": ERROR}, FULL_ANSWER),
    "after a whole answer": events(FULL_ANSWER, {"error": ERROR}),
    "vLLM": events(piece("half"), {"object": "error", "message": GONE, "code": 500}, FULL_ANSWER),
    "TGI": events(piece("half"), {"error": GONE, "error_type": "generation"}),
}


def body(**fields: object) -> Recorded:
    message = {"role": "assistant", "content": "half"}
    response = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **fields}
    return Recorded(status=200, body=json.dumps(response))


BROKEN |= {
    "a body with both": body(error=ERROR),
    "a body with an error of its choice": body(
        choices=[{"message": {"content": "half"}, "finish_reason": "error", "error": ERROR}]
    ),
    "a body of words alone": Recorded(status=200, body=json.dumps({"detail": GONE})),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_an_error_beside_an_answer_is_a_failed_try_that_is_made_again(name: str) -> None:
    noted, waits = Events(), Waits()
    with RecordedServer([BROKEN[name], "good"]) as server:
        inner = client(server.url)
        reply = await retrying(inner, noted, waits).complete(ask())
        await inner.aclose()
    assert reply.text == "good"
    (failure,) = noted.failures
    assert GONE in failure.message


async def test_a_body_of_another_protocol_is_not_called_an_error() -> None:
    other = {"model": "m", "message": {"role": "assistant", "content": "hi"}, "done": True}
    with RecordedServer([Recorded(status=200, body=json.dumps(other))]) as server:
        inner = client(server.url)
        with pytest.raises(TryFailed, match="no list of choices"):
            await inner.complete(ask())
        await inner.aclose()


async def test_a_stream_that_says_it_has_no_error_is_an_answer() -> None:
    with RecordedServer([events({**piece("fine", "stop"), "error": None})]) as server:
        inner = client(server.url)
        assert (await inner.complete(ask())).text == "fine"
        await inner.aclose()
