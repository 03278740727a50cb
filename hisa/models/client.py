"""One try of one call over the OpenAI chat protocol; wrappers add retries, budget and ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hisa.config import ModelSettings
from hisa.models.encode import encode
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import BUILT_IN, Profile
from hisa.models.retry import FailureKind, TryFailed, retry_after
from hisa.models.tokens import estimate_input, estimate_tokens
from hisa.models.wire import Answer, Malformed, read_answer
from hisa.protocols import ModelReply, ModelRequest, Role, Usage
from hisa.redact import redact

if TYPE_CHECKING:
    import httpx
    import openai

__all__ = ["OpenAIModel"]


class OpenAIModel:
    """A model behind any server that speaks the OpenAI chat protocol.

    Every request carries ``X-Component`` (the role) and ``X-Step``. A server that reports no
    usage gets an estimate (see `hisa.models.tokens`).

    Args:
        settings: model name, time limit of a try, longest answer.
        endpoint: address and key.
        profile: what the model takes.
        name: as printed; empty: the model's name.
        section: the part of the settings that error messages point to.
        http_client: sends the requests in place of a client of its own (such as one that serves
            the model in this process); closed by `aclose`.
        wall: seconds since 1970, for ``Retry-After`` dates.
    """

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
        self._client = _open_client(endpoint, http_client)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """One try.

        Raises:
            TryFailed: with its kind; the text of an empty answer is empty and no failure here.
        """
        body = await asyncio.to_thread(encode, request, self.profile, self._settings)
        raw = await self._send(body, request)
        try:
            answer = read_answer(raw)
        except Malformed as error:
            kind = _kind(error.status) if error.status else "malformed"
            raise TryFailed(str(error), kind, status=error.status, fix=self._look()) from None
        return self._reply(request, answer)

    async def _send(self, body: dict[str, Any], request: ModelRequest) -> bytes:
        import httpx
        import openai

        limit = self._settings.timeout
        headers = {"X-Component": request.role, "X-Step": str(request.step)}
        try:
            # The library's own limit is on each read: a server that drips would never reach it.
            # Its typed method walks the whole body against its types first, for milliseconds.
            async with asyncio.timeout(limit):
                response = await self._client.post(
                    "/chat/completions",
                    cast_to=httpx.Response,
                    body=body,
                    options={"headers": headers, "timeout": limit},
                )
            return response.content
        except (TimeoutError, openai.APITimeoutError):
            raise TryFailed(
                f"no answer from {self._where()} within {limit:g} s",
                "timeout",
                fix=f"--set models.{self._section}.timeout={2 * limit:g}",
            ) from None
        except openai.APIStatusError as error:
            raise self._by_status(error) from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise TryFailed(
                f"the connection to {self._where()} failed: {cause}", "connection", fix=self._look()
            ) from error

    def _by_status(self, error: openai.APIStatusError) -> TryFailed:
        status = error.status_code
        kind = _kind(status)
        # A spent account answers 429 as well, but waiting does not fill it.
        if error.code == "insufficient_quota":
            kind = "refused"
        return TryFailed(
            f"{self._where()} answered {status}: {_said(error)}",
            kind,
            status=status,
            retry_after=retry_after(error.response.headers.get("retry-after"), self._wall()),
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

    def _reply(self, request: ModelRequest, answer: Answer) -> ModelReply:
        usage = answer.usage or Usage(
            estimate_input(request, image_tokens=self.profile.image_tokens),
            estimate_tokens(answer.text),
        )
        return ModelReply(answer.text, usage, answer.finish, answer.model or self._settings.model)

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


def _said(error: openai.APIStatusError) -> str:
    """The server's message on one line, cut to 500 characters."""
    body = error.body
    said = body.get("message") or body.get("detail") if isinstance(body, dict) else None
    return " ".join(str(said or body or error.response.text or "(no text)").split())[:500]


def _open_client(endpoint: Endpoint, http_client: httpx.AsyncClient | None) -> openai.AsyncOpenAI:
    """A client that never retries by itself: retries are visible events."""
    import openai

    transport: Any = http_client
    if transport is None:
        # A proxy of the environment is for the outside, never for a server next door.
        transport = openai.DefaultAsyncHttpxClient(trust_env=not endpoint.local)
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key, base_url=endpoint.url, max_retries=0, http_client=transport
    )
