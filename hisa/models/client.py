"""One try of one call over the OpenAI chat protocol; wrappers add retries, budget and ledger."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic_core import PydanticSerializationError, to_json

from hisa.config import ModelSettings
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import BUILT_IN, Profile
from hisa.models.request_body import encode
from hisa.models.response_body import (
    MOST_BYTES,
    ChatResponse,
    MalformedResponse,
    read_response,
)
from hisa.models.retry import FailureKind, TryFailed, retry_after
from hisa.models.tokens import estimate_input, estimate_tokens
from hisa.protocols import ModelReply, ModelRequest, Role, Usage
from hisa.text.redact import redact

if TYPE_CHECKING:
    import httpx

    from hisa.machine.loopback import Address, HttpResponse, LoopbackTransport

__all__ = ["OpenAIModel"]

_REDIRECTS = 5  # chosen by hand


class OpenAIModel:
    """A model behind any server that speaks the OpenAI chat protocol.

    Every request carries ``X-Component`` (the role) and ``X-Step``. A server that reports no
    usage gets an estimate (see `hisa.models.tokens`).

    Args:
        settings: model name, time limit of a try, longest response.
        endpoint: address and key.
        profile: what the model takes.
        name: as printed; empty: the model's name.
        section: the part of the settings that error messages point to.
        http_client: sends the requests in place of a client of its own (such as one that serves
            the model in this process); closed by `aclose`.
        wall: seconds since 1970, for ``Retry-After`` dates.
    """

    path: ClassVar[str] = "chat/completions"
    """What follows the base address."""

    def __init__(
        self,
        settings: ModelSettings,
        endpoint: Endpoint,
        *,
        profile: Profile,
        name: str = "",
        section: Role = "planner",
        http_client: httpx.AsyncClient | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.name = name or settings.model
        self.profile = profile
        self._section = section
        self._settings = settings
        self._endpoint = endpoint
        self._wall = wall
        self._url = f"{endpoint.url}/{self.path}"
        self._addresses: dict[str, Address] = {}
        self._loopback = None if http_client else _open_nearby(endpoint)
        self._client = http_client or _open_client(endpoint, self._loopback)
        self._headers = _headers(endpoint)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """One try.

        Raises:
            TryFailed: with its kind; the text of an empty response is empty and no failure here.
        """
        if all(image.is_quick for image in request.pictures):
            body = self._body(request)
        else:
            body = await asyncio.to_thread(self._body, request)
        raw = await self._send(body, request)
        try:
            answer = self._read(raw, request)
        except MalformedResponse as error:
            kind = _kind(error.status) if error.status else "malformed"
            raise TryFailed(str(error), kind, status=error.status, fix=self._look()) from None
        return self._reply(request, answer)

    def _encoded(self, request: ModelRequest) -> dict[str, Any]:
        return encode(request, self.profile, self._settings)

    def _read(self, raw: bytes, request: ModelRequest) -> ChatResponse:
        return read_response(raw)

    def _body(self, request: ModelRequest) -> bytes:
        body = self._encoded(request)
        with suppress(PydanticSerializationError):
            return to_json(body)  # a picture is long, and this reads it once
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )

    async def _send(self, body: bytes, request: ModelRequest) -> bytes:
        import httpx

        from hisa.machine.bounded_http import ResponseTooLong

        limit = self._settings.timeout
        headers = {"X-Component": request.role, "X-Step": str(request.step)}
        try:
            # The library's own limit is on each read: a server that drips would never reach it.
            async with asyncio.timeout(limit):
                answer = await self._posted(body, self._headers | headers)
        except (TimeoutError, httpx.TimeoutException):
            raise TryFailed(
                f"no answer from {self._where()} within {limit:g} s",
                "timeout",
                fix=f"--set models.{self._section}.timeout={2 * limit:g}",
            ) from None
        except ResponseTooLong as error:
            raise TryFailed(f"{self._where()}: {error}", "too_long", fix=self._look()) from None
        except httpx.DecodingError as error:
            raise TryFailed(f"{self._where()}: {error}", "malformed", fix=self._look()) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TryFailed(
                f"the connection to {self._where()} failed: {error}", "connection", fix=self._look()
            ) from error
        if not 200 <= answer.status_code < 300:
            raise self._by_status(answer)
        return bytes(answer.content)

    async def _posted(self, body: bytes, headers: dict[str, str]) -> HttpResponse:
        """The response; a redirect is followed where it stays with this server."""
        url = self._url
        for _ in range(_REDIRECTS):
            answer = await self._once(url, body, headers | {"Accept-Encoding": "identity"})
            if answer.status_code not in (301, 302, 307, 308):
                return answer
            url = self._next(url, answer.headers.get("location", ""))
        raise TryFailed(f"{self._where()} redirects over and over", "refused", fix=self._look())

    async def _once(self, url: str, body: bytes, headers: dict[str, str]) -> HttpResponse:
        """One exchange, the body limited as it comes; a local server without httpx's client."""
        from hisa.machine.bounded_http import BoundedBody, read_bounded
        from hisa.machine.loopback import Address, HttpResponse

        if self._loopback is not None:
            self._addresses[url] = address = self._addresses.get(url) or Address(url)
            fields = [(name.encode(), value.encode("ascii")) for name, value in headers.items()]
            answer = await self._loopback.exchange(
                "POST", address, headers=fields, body=body, connect=self._settings.timeout,
                most=MOST_BYTES,
            )  # fmt: skip
            encoding = answer.headers.get("content-encoding", "")
            if not encoding:
                return answer
            unpacked = BoundedBody(MOST_BYTES, encoding)
            unpacked.add(answer.content)
            return replace(answer, content=unpacked.content)
        async with self._client.stream(
            "POST", url, content=body, headers=headers, timeout=self._settings.timeout
        ) as response:
            content = await read_bounded(response, MOST_BYTES)
            return HttpResponse(response.status_code, dict(response.headers), content)

    def _next(self, url: str, location: str) -> str:
        """Returns where a redirect leads.

        Raises:
            TryFailed: to another server, which would get the key and what is on the screen.
        """
        import httpx

        here, there = httpx.URL(url), httpx.URL(url).join(location)
        if (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port):
            return str(there)
        base = redact(str(there.copy_with(query=None)).removesuffix(f"/{self.path}"))
        raise TryFailed(
            f"{self._where()} sends on to another server, {base}, which gets neither the key "
            "nor the request",
            "refused",
            fix=f"if that is the one you mean: --set models.{self._section}.base_url={base}",
        )

    def _by_status(self, response: HttpResponse) -> TryFailed:
        status = response.status_code
        kind = _kind(status)
        said = _error_body(response)
        # A spent account answers 429 as well, but waiting does not fill it.
        if isinstance(said, dict) and said.get("code") == "insufficient_quota":
            kind = "refused"
        return TryFailed(
            f"{self._where()} answered {status}: {_said(said, response.text)}",
            kind,
            status=status,
            retry_after=retry_after(response.headers.get("retry-after"), self._wall()),
            fix=self._fix(status),
        )

    def _fix(self, status: int) -> str:
        section, variable = self._section, self._settings.api_key_env
        match status:
            case 401 | 403:
                return f"export {variable}=… with a key that {self._where()} takes"
            case 404:
                return f"check --model and models.{section}.base_url; {self._look()}"
            case 400 | 422:
                names = ", ".join(profile.name for profile in BUILT_IN)
                return (
                    f"if a parameter is refused: --set models.{section}.profile=NAME "
                    f"(now {self.profile.name}; known are {names})"
                )
            case _:
                return self._look()

    def _reply(self, request: ModelRequest, response: ChatResponse) -> ModelReply:
        usage = response.usage or Usage(
            estimate_input(request, image_tokens=self.profile.image_tokens),
            estimate_tokens(response.text),
        )
        return ModelReply(
            response.text, usage, response.finish, response.model or self._settings.model
        )

    def _where(self) -> str:
        return redact(self._endpoint.url)

    def _look(self) -> str:
        return f"curl {self._where()}/models"


def _kind(status: int) -> FailureKind:
    if status == 408:
        return "timeout"
    if status == 429:
        return "rate_limit"
    return "server" if status >= 500 else "refused"


def _error_body(response: HttpResponse) -> Any:
    """Returns the server's error object, else its whole JSON; None where it is not JSON."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return body.get("error", body) if isinstance(body, dict) else body


def _said(body: Any, text: str) -> str:
    """The server's message on one line, cut to 500 characters."""
    said = body.get("message") or body.get("detail") if isinstance(body, dict) else None
    return " ".join(str(said or body or text or "(no text)").split())[:500]


_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}


def _headers(endpoint: Endpoint) -> dict[str, str]:
    """The key, and for a public server the account that the environment names."""
    headers = {"Authorization": f"Bearer {endpoint.api_key}", "Content-Type": "application/json"}
    if not endpoint.local:
        headers |= {name: os.environ[key] for name, key in _ACCOUNT.items() if os.environ.get(key)}
    return headers


def _open_client(endpoint: Endpoint, loopback: LoopbackTransport | None) -> httpx.AsyncClient:
    """A client that never retries by itself: retries are visible events."""
    import httpx

    # A proxy of the environment is for the outside, never for a local server.
    return httpx.AsyncClient(transport=loopback, trust_env=not endpoint.local)


def _open_nearby(endpoint: Endpoint) -> LoopbackTransport | None:
    """Plain HTTP to a local server; a name and password in its address are httpx's to send."""
    from hisa.machine.loopback import LoopbackTransport

    plain = endpoint.url.startswith("http://") and "@" not in endpoint.url
    return LoopbackTransport() if endpoint.local and plain else None
