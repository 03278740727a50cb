"""One try of one call with the `openai` package; `RoleModel` adds retries, budget and ledger."""

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
"""Statuses that are about the key, the address, the time or the size, not about a parameter."""
_STREAM = r"\bstream"
_FORM = r"response.?format|json.?(schema|object|mode)|structured.?output|grammar"


class OpenAIModel:
    """A model behind any server that speaks the OpenAI chat protocol.

    Every request carries ``X-Component`` (the role) and ``X-Step``. A feature that the server
    refuses, such as streaming, is not requested again. If a server reports no usage, it is
    estimated (see `hisa.models.tokens`).

    Args:
        settings: model name, time limits of a try, longest response.
        endpoint: address and key.
        profile: what the model takes.
        name: name to print; empty: the model's name.
        section: the role whose settings error messages name.
        http_client: sends the requests instead of an own client (such as one that serves the
            model in this process); closed by `aclose`.
    """

    path: ClassVar[str] = "chat/completions"
    """The path after the base address."""
    api: ClassVar[str] = "chat"
    reports_body: ClassVar[bool] = True
    stream_fields: ClassVar[Mapping[str, Any]] = {
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    """The fields of a body that ask for a stream."""

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
        """Make one try; without a feature that the server refuses, it is repeated at once.

        Raises:
            TryFailed: the try failed. A response with empty text is not a failure here.
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
        """Returns the request's body, encoded in a thread if that takes long."""
        if all(image.is_quick for image in request.pictures):
            body = self._encode_request(request)
        else:
            body = await asyncio.to_thread(self._encode_request, request)
        # llama.cpp has ids in its log-probs alone, and a stream of them lacks the end of the reply.
        at_once = self._settings.tokens and not self.profile.token_ids
        return {**body, **self.stream_fields} if self.profile.streams and not at_once else body

    def _encode_request(self, request: ModelRequest) -> dict[str, Any]:
        return encode(request, self.profile, self._settings)

    def _read(self, raw: bytes, request: ModelRequest) -> ChatResponse:
        return read_response(raw)

    def _open(self) -> AsyncOpenAI:
        """Open the package's client, which never retries: retries are visible events."""
        from openai import AsyncOpenAI

        http: Any = self._client  # any client of httpx works, though its types name only its own
        return AsyncOpenAI(
            api_key=self._endpoint.api_key,
            base_url=self._endpoint.url,
            timeout=self._settings.timeout,
            max_retries=0,
            http_client=http,
        )

    async def _once(self, body: dict[str, Any], request: ModelRequest) -> ChatResponse:
        """Make one exchange, limited in silence, total time and size."""
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
        # UnicodeError: httpx parses the host of a redirect.
        except (TimeoutError, httpx.HTTPError, OpenAIError, UnicodeError) as error:
            if stream.ended:  # only the end mark and the usage are missing: the reply is complete
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
        """Add the chunks of a streamed reply as they arrive."""
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
        """Send the request; returns the response, whose body is still to be read.

        The package does not parse it, because its types drop fields that servers send.
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
        """Returns the failure for an error of the exchange."""
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
            message = f"{self._show_url()} began to answer ({so_far}) but did not finish"
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
        # An empty account answers 429 too, but waiting does not help.
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
        """Returns what to try if this address does not serve the API."""
        setting = f"models.{self._section}.base_url"
        return f"check --model and {setting}, which usually ends in /v1; {self._look()}"

    def _sent_on(self, location: str) -> TryFailed:
        place = redact(location.partition("?")[0])
        return TryFailed(
            f"{self._show_url()} redirects to {place}, which gets neither the key nor the request",
            "refused",
            fix=f"if you mean that server, set models.{self._section}.base_url",
        )

    def _fix(self, status: int) -> str:
        section, variable = self._section, self._settings.api_key_env
        match status:
            case 401 | 403:
                return f"export {variable}=… with a key that {self._show_url()} accepts"
            case 404:
                return self._other_address()
            case 400 | 422:
                return (
                    f"if a parameter is refused: --set models.{section}.profile=FILE.toml (now "
                    f"{self.profile.name}); if pictures are refused: --set planner.sees=elements"
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
    """Returns the profile without the feature that the server refused, if it named one."""
    status = failure.status or 0
    words = failure.words if status >= 400 and status not in _OTHER else ""
    # A stream that broke (5xx) may work next time.
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
    """Returns the server's error object, else its whole JSON; None if it is not JSON."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return body.get("error", body) if isinstance(body, dict) else body
