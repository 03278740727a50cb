"""One try of one call, by the `openai` package; `RoleModel` adds retries, budget and ledger."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from hisa.config import ModelSettings
from hisa.models.connection import open_client
from hisa.models.endpoint import Endpoint
from hisa.models.profile import Profile
from hisa.models.request_body import encode
from hisa.models.response_body import (
    ChatResponse,
    ChatStream,
    MalformedResponse,
    error_words,
    read_response,
    server_error,
)
from hisa.models.retry import FailureKind, TryFailed, retry_after
from hisa.models.tokens import estimate_input, estimate_tokens
from hisa.protocols import ModelReply, ModelRequest, Role, Usage
from hisa.text.redact import redact

if TYPE_CHECKING:
    import httpx
    from openai import AsyncOpenAI

__all__ = ["OpenAIModel"]

_OTHER = (401, 403, 404, 408, 413, 429)
"""Statuses that say something of the key, the address, the time or the size."""
_STREAM = r"\bstream"
_FORM = r"response.?format|json.?(schema|object|mode)|structured.?output|grammar"


class OpenAIModel:
    """A model behind any server that speaks the OpenAI chat protocol.

    Every request carries ``X-Component`` (the role) and ``X-Step``. What a server refuses, such as
    to stream, is left out from then on. A server that reports no
    usage gets an estimate (see `hisa.models.tokens`).

    Args:
        settings: model name, time limits of a try, longest response.
        endpoint: address and key.
        profile: what the model takes.
        name: as printed; empty: the model's name.
        section: the part of the settings that error messages point to.
        http_client: sends the requests in place of a client of its own (such as one that serves
            the model in this process); closed by `aclose`.
    """

    path: ClassVar[str] = "chat/completions"
    """What follows the base address."""
    api: ClassVar[str] = "chat"
    reports_body: ClassVar[bool] = True
    stream_fields: ClassVar[Mapping[str, Any]] = {
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    """What of a body asks for a stream."""

    def __init__(
        self,
        settings: ModelSettings,
        endpoint: Endpoint,
        *,
        profile: Profile,
        name: str = "",
        section: Role = "planner",
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self.name = name or settings.model
        self.profile = profile
        self._section = section
        self._settings = settings
        self._endpoint = endpoint
        self._client = open_client(endpoint, http_client)
        self._openai: AsyncOpenAI | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """One try.

        Raises:
            TryFailed: with its kind; the text of an empty response is empty and no failure here.
        """
        if self._openai is None:
            self._openai = await asyncio.to_thread(self._open)  # the import takes half a second
        while True:
            profile, body = self.profile, await self._body(request)
            try:
                return self._reply(request, await self._once(body, request))
            except TryFailed as failure:
                if self.profile == profile:  # another request may have been refused meanwhile
                    self.profile = _without_refused(profile, failure)
                if await self._body(request) == body:
                    raise

    async def _body(self, request: ModelRequest) -> dict[str, Any]:
        """The request's body, encoded in a thread where that takes long."""
        if all(image.is_quick for image in request.pictures):
            body = self._encode_request(request)
        else:
            body = await asyncio.to_thread(self._encode_request, request)
        return {**body, **self.stream_fields} if self.profile.streams else body

    def _encode_request(self, request: ModelRequest) -> dict[str, Any]:
        return encode(request, self.profile, self._settings)

    def _read(self, raw: bytes, request: ModelRequest) -> ChatResponse:
        return read_response(raw)

    def _open(self) -> AsyncOpenAI:
        """The package's client, which never retries by itself: retries are visible events."""
        from openai import AsyncOpenAI

        http: Any = self._client  # it takes clients of httpx, and names those of its own alone
        return AsyncOpenAI(
            api_key=self._endpoint.api_key,
            base_url=self._endpoint.url,
            timeout=self._settings.timeout,
            max_retries=0,
            http_client=http,
        )

    async def _once(self, body: dict[str, Any], request: ModelRequest) -> ChatResponse:
        """One exchange, limited in its silence, its whole time and its size."""
        import httpx
        from openai import OpenAIError

        if request.sent is not None:
            request.sent(body, self.api)
        stream = ChatStream()
        time_limit = asyncio.timeout(self._settings.total_seconds)
        try:
            async with time_limit:
                return await self._exchange(body, request, stream)
        except MalformedResponse as error:
            kind = _kind(error.status) if error.status else "malformed"
            raise TryFailed(
                str(error), kind, status=error.status, words=str(error), fix=self._other_address()
            ) from None
        # The last is of the host of a redirect, which httpx looks at.
        except (TimeoutError, httpx.HTTPError, OpenAIError, UnicodeError) as error:
            if stream.ended:  # no end mark, no usage: the answer is whole
                return stream.answer()
            raise self._failure(error, stream, too_long=time_limit.expired()) from error

    async def _exchange(
        self, body: dict[str, Any], request: ModelRequest, stream: ChatStream
    ) -> ChatResponse:
        """Send a request and read its answer."""
        response = await self._post(body, request)
        stream.began = True
        try:
            kind = response.headers.get("content-type", "")
            if not kind.startswith("text/event-stream"):
                return self._read(await response.aread(), request)
            await self._follow(response, request, stream)
        finally:
            await response.aclose()
        if not stream.ended:
            raise TryFailed(
                f"{self._show_url()} ended its answer without an end mark",
                "connection",
                fix=self._look(),
            )
        return stream.answer()

    async def _follow(
        self, response: httpx.Response, request: ModelRequest, stream: ChatStream
    ) -> None:
        """Add the chunks of a streamed answer as they come."""
        from openai import APIConnectionError, APIError, AsyncStream

        assert self._openai is not None
        raw: Any = response
        chunks = AsyncStream[object](cast_to=object, response=raw, client=self._openai)
        try:
            async for chunk in chunks:
                stream.add(chunk)
                if request.progress is not None and str(stream):
                    request.progress(request.role, str(stream))
        except (APIConnectionError, MalformedResponse):
            raise
        except APIError as error:
            raise server_error(error.body) from None
        except (ValueError, RecursionError) as error:
            raise MalformedResponse(f"an event that is not JSON: {error}") from None

    async def _post(self, body: dict[str, Any], request: ModelRequest) -> httpx.Response:
        """The response, whose body is still to be read.

        It is not parsed by the package, whose types know less than servers say.
        """
        import httpx
        from openai import AsyncStream

        assert self._openai is not None
        options: Any = {"headers": {"X-Component": request.role, "X-Step": str(request.step)}}
        response: Any = await self._openai.post(
            self._endpoint.address(self.path),
            cast_to=httpx.Response,
            body=body,
            options=options,
            stream=True,
            stream_cls=AsyncStream[Any],
        )
        assert isinstance(response, httpx.Response)
        return response

    def _failure(self, error: Exception, stream: ChatStream, *, too_long: bool) -> TryFailed:
        """The failure that an error of the exchange is."""
        import httpx
        from openai import APIConnectionError, APIStatusError

        from hisa.machine.bounded_http import ResponseTooLong

        if isinstance(error, APIConnectionError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        url, fix = self._show_url(), self._look()
        match error:
            case TimeoutError() | httpx.TimeoutException():
                return self._late(stream, too_long=too_long)
            case APIStatusError():
                return self._by_status(error.response)
            case ResponseTooLong():
                return TryFailed(f"{url}: {error}", "too_long", fix=fix)
            case httpx.DecodingError():
                return TryFailed(f"{url}: {error}", "malformed", fix=fix)
            case _:
                message = f"the connection to {url} failed: {error}"
                return TryFailed(message, "connection", fix=fix)

    def _late(self, stream: ChatStream, *, too_long: bool) -> TryFailed:
        name = "total_seconds" if too_long else "timeout"
        limit = getattr(self._settings, name)
        message = f"no answer from {self._show_url()} within {limit:g} s"
        if stream.began:
            so_far = str(stream) or "no token yet"
            message = f"{self._show_url()} had begun to answer ({so_far}) and was not done"
            message += f" within {limit:g} s"
        fix = f"--set models.{self._section}.{name}={2 * limit:g}"
        return TryFailed(message, "timeout", fix=fix, began=stream.began)

    def _by_status(self, response: Any) -> TryFailed:
        status = response.status_code
        if 300 <= status < 400:
            return self._sent_on(response.headers.get("location", ""))
        kind = _kind(status)
        body = _error_body(response)
        words = error_words(body) or response.text[:500] or "(no text)"
        # A spent account answers 429 as well, but waiting does not fill it.
        if isinstance(body, dict) and body.get("code") == "insufficient_quota":
            kind = "refused"
        return TryFailed(
            f"{self._show_url()} answered {status}: {words}",
            kind,
            status=status,
            words=words,
            retry_after=retry_after(response.headers.get("retry-after")),
            fix=self._fix(status),
        )

    def _other_address(self) -> str:
        """Returns what to try where nothing of the API lies at this address."""
        setting = f"models.{self._section}.base_url"
        return f"check --model and {setting}, which mostly ends in /v1; {self._look()}"

    def _sent_on(self, location: str) -> TryFailed:
        place = redact(location.partition("?")[0])
        return TryFailed(
            f"{self._show_url()} sends on to {place}, which gets neither the key nor the request",
            "refused",
            fix=f"if that is the one you mean, set models.{self._section}.base_url",
        )

    def _fix(self, status: int) -> str:
        section, variable = self._section, self._settings.api_key_env
        match status:
            case 401 | 403:
                return f"export {variable}=… with a key that {self._show_url()} takes"
            case 404:
                return self._other_address()
            case 400 | 422:
                return (
                    f"if a parameter is refused: --set models.{section}.profile=FILE.toml (now "
                    f"{self.profile.name}); if pictures are: --set planner.sees=elements"
                )
            case _:
                return self._look()

    def _reply(self, request: ModelRequest, response: ChatResponse) -> ModelReply:
        text = response.text
        usage = response.usage or Usage(
            estimate_input(request, image_tokens=self.profile.image_tokens), estimate_tokens(text)
        )
        return ModelReply(
            text,
            usage,
            response.finish,
            response.model or self._settings.model,
            response.policy,
            response.tokens,
        )

    def _show_url(self) -> str:
        return redact(self._endpoint.url)

    def _look(self) -> str:
        return f"curl {redact(self._endpoint.address('models'))}"


def _without_refused(profile: Profile, failure: TryFailed) -> Profile:
    """The profile without what the server named in its refusal; as it is for anything else."""
    status = failure.status or 0
    words = failure.words if status >= 400 and status not in _OTHER else ""
    # A stream that broke (5xx) may go next time.
    if profile.streams and failure.kind == "refused" and re.search(_STREAM, words, re.I):
        return profile.model_copy(update={"streams": False})
    if profile.structured != "none" and re.search(_FORM, words, re.I):
        return profile.model_copy(update={"structured": "none"})
    return profile


def _kind(status: int) -> FailureKind:
    if status == 408:
        return "timeout"
    if status == 429:
        return "rate_limit"
    return "server" if status >= 500 else "refused"


def _error_body(response: Any) -> Any:
    """Returns the server's error object, else its whole JSON; None where it is not JSON."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return body.get("error", body) if isinstance(body, dict) else body
