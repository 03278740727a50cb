"""One try of one call, over a real socket."""

from __future__ import annotations

import asyncio
import base64

import httpx
import pytest

from hisa.config import ModelSettings
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import find
from hisa.models.retry import FailureKind, TryFailed
from hisa.models.tokens import estimate_input, estimate_tokens
from hisa.protocols import ModelReply, ModelRequest
from hisa.testing.model_server import FakeServer, Fault, FaultKind
from tests.models.support import SCHEMA, ask, client, picture

STREAM = {"stream", "stream_options"}


async def _once(server: FakeServer, request: ModelRequest, *, model: str = "m") -> ModelReply:
    openai_model = client(server.url, model=model)
    try:
        return await openai_model.complete(request)
    finally:
        await openai_model.aclose()


async def _failure(fault: Fault, *, timeout: float = 20.0) -> TryFailed:
    with FakeServer([fault]) as server:
        openai_model = client(server.url, timeout=timeout)
        try:
            # A guard: a limit that is not kept fails here instead of hanging.
            with pytest.raises(TryFailed) as caught:
                async with asyncio.timeout(60):
                    await openai_model.complete(ask())
        finally:
            await openai_model.aclose()
        assert len(server.requests) == 1
    return caught.value


async def test_the_request_that_is_sent() -> None:
    image = picture(5)
    with FakeServer(["done"]) as server:
        await _once(server, ask("find it", step=12, image=image, schema=SCHEMA), model="gpt-5")
    (sent,) = server.requests
    assert sent.path == "/v1/chat/completions"
    assert (sent.headers["x-component"], sent.headers["x-step"]) == ("planner", "12")
    assert sent.headers["authorization"] == "Bearer secret-key-1"
    assert set(sent.body) - STREAM == {
        "model",
        "messages",
        "max_completion_tokens",
        "response_format",
    }
    assert sent.body["model"] == "gpt-5"
    assert sent.body["response_format"]["json_schema"]["schema"] == dict(SCHEMA)
    assert sent.text == "# Global planner\nYou act.\nfind it"
    (url,) = [picture["url"] for picture in sent.images]
    assert base64.b64decode(url.partition(",")[2]) == image.png


async def test_missing_usage_is_estimated() -> None:
    request = ask(image=picture())
    with FakeServer([Fault("no_usage", text="five words are in here")]) as server:
        reply = await _once(server, request)
    image_tokens = find("m").image_tokens
    assert reply.usage.tokens_in == estimate_input(request, image_tokens=image_tokens)
    assert reply.usage.tokens_out == estimate_tokens("five words are in here")


@pytest.mark.parametrize(
    ("kind", "finish"), [("empty", "stop"), ("no_choices", ""), ("length", "length")]
)
async def test_answer_without_text_is_an_empty_reply(kind: FaultKind, finish: str) -> None:
    with FakeServer([Fault(kind)]) as server:
        reply = await _once(server, ask())
    assert (reply.text, reply.finish) == ("", finish)


@pytest.mark.parametrize(
    ("fault", "kind", "status"),
    [
        (Fault("status", status=429), "rate_limit", 429),
        (Fault("status", status=500), "server", 500),
        (Fault("status", status=503), "server", 503),
        (Fault("status", status=408), "timeout", 408),
        (Fault("status", status=400), "refused", 400),
        (Fault("status", status=401), "refused", 401),
        (Fault("status", status=404), "refused", 404),
        (Fault("cut_off"), "malformed", None),
        (Fault("cut_connection"), "connection", None),
        (Fault("html"), "malformed", None),
        (Fault("error_body", status=502), "server", 502),
        (Fault("error_body", status=403), "refused", 403),
    ],
)
async def test_server_fault_maps_to_a_failure_kind(
    fault: Fault, kind: FailureKind, status: int | None
) -> None:
    failure = await _failure(fault)
    assert (failure.kind, failure.status) == (kind, status)


async def test_a_server_that_never_answers() -> None:
    failure = await _failure(Fault("hang"), timeout=0.2)
    assert failure.kind == "timeout"
    assert "within 0.2 s" in str(failure)
    assert failure.fix == "--set models.planner.timeout=0.4"


async def test_the_servers_own_words_and_a_way_out() -> None:
    failure = await _failure(Fault("status", status=400, text="temperature is not supported"))
    assert "answered 400: temperature is not supported" in str(failure)
    assert "--set models.planner.profile=FILE.toml" in failure.fix


class _Inside(httpx.AsyncBaseTransport):
    """A server inside this process."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        message = {"role": "assistant", "content": "from inside"}
        return httpx.Response(200, json={"choices": [{"message": message}]}, request=request)

    async def aclose(self) -> None:
        self.closed = True


async def test_spent_account_is_not_tried_again() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        error = {"code": "insufficient_quota", "message": "pay first"}
        return httpx.Response(429, json={"error": error}, request=request)

    http = httpx.AsyncClient(transport=httpx.MockTransport(refuse))
    openai_model = OpenAIModel(
        ModelSettings(model="m"), Endpoint("http://h/v1"), profile=find("m"), http_client=http
    )
    with pytest.raises(TryFailed, match="pay first") as caught:
        await openai_model.complete(ask())
    await openai_model.aclose()
    assert caught.value.kind == "refused"


@pytest.mark.parametrize(
    ("url", "account"),
    [("http://127.0.0.1:9/v1", ""), ("https://models.example/v1", "org-1")],
)
async def test_headers_that_leave_are_ours_alone(
    url: str, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Own: told")
    inside = _Inside()
    http = httpx.AsyncClient(transport=inside)
    openai_model = OpenAIModel(
        ModelSettings(model="m"), Endpoint(url, "key-1"), profile=find("m"), http_client=http
    )
    await openai_model.complete(ask())
    await openai_model.aclose()
    headers = dict(inside.requests[0].headers)
    assert headers["authorization"] == "Bearer key-1"
    assert headers["accept-encoding"] == "identity"
    assert headers.get("openai-organization", "") == account
    assert headers.get("openai-project", "") == account.replace("org", "project")
    assert not [name for name in headers if name.startswith(("x-stainless", "x-own"))]
    assert str(inside.requests[0].url) == f"{url}/chat/completions"


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("http://h:no/", "connection"),
        ("http://xn--/", "connection"),
        ("", "refused"),
        ("https://other.example/v1?key=1", "refused"),
    ],
)
async def test_redirect_that_is_not_followed(location: str, kind: FailureKind) -> None:
    sent: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url)
        return httpx.Response(307, headers={"Location": location})

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    openai_model = OpenAIModel(
        ModelSettings(model="m"), Endpoint("http://h/v1"), profile=find("m"), http_client=http
    )
    with pytest.raises(TryFailed) as caught:
        await openai_model.complete(ask())
    await openai_model.aclose()
    assert caught.value.kind == kind
    assert {url.host for url in sent} == {"h"}
    assert "key=1" not in str(caught.value)
