"""The parts that all transports to a guest share: protocol, HTTP client, errors and retries."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from hisa.actions import Action, Drag, Move, Sleep, Write
from hisa.errors import EnvironmentFailed
from hisa.machine.bounded_http import ResponseTooLong, read_bounded
from hisa.machine.patience import slowness
from hisa.protocols import CommandResult, ScreenPrecondition
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Element, Screenshot, UnderPointer, Window

__all__ = [
    "GuestClient",
    "HttpResponse",
    "NoResponse",
    "RawObservation",
    "ResponseTooLarge",
    "Transport",
    "acting_seconds",
    "guest_failure",
    "reason",
]

_TRIES = 3
"""Tries of a request that may be sent again; chosen by hand."""
_PAUSE_SECONDS = 0.1
"""Pause before each further try; chosen by hand."""
_CONNECT_SECONDS = 10.0
"""Time limit for one connection on an idle machine; chosen by hand."""
_MOST = 1 << 28
"""Most bytes of a body unless the caller sets a limit: twice the largest file of a guest."""
_REFUSAL_BYTES = 1 << 16
"""Most bytes of an error's body: an error gives its reason in less."""


@dataclass(frozen=True)
class RawObservation:
    """One look at the machine, in screen space and at full size."""

    picture: Screenshot
    screen: Size
    windows: tuple[Window, ...] = ()
    elements: tuple[Element, ...] | None = None
    cursor: Point | None = None
    under_pointer: UnderPointer | None = None
    """The pixels that the pointer covers in the picture, if the machine reports them."""
    complete: bool = True
    """Whether no element is missing."""
    undrawn: tuple[str, ...] = ()
    """Names of what exists and was not painted yet; see `Observation`."""
    selection: str = ""
    """The selected text."""
    windows_known: bool = True
    """Whether the machine can list its windows; if not, ``windows`` is empty."""
    name: str = ""
    """The guest's own name for this look; see `Observation`."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole response; ``headers`` by their names in lower case."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The body decoded as UTF-8; invalid bytes become U+FFFD."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body's value.

        Raises:
            ValueError: it is not JSON.
        """
        return json.loads(self.content)


class Transport(Protocol):
    """Talks to a guest; the errors are those of `hisa.protocols.Environment`."""

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities that the guest offers; see `hisa.protocols.Environment`."""
        ...

    async def look(self, *, elements: bool, settle: float, longer: float = 1.0) -> RawObservation:
        """See `Environment.observe`.

        Args:
            elements: whether to read the element tree too.
            settle: longest wait for the screen to stop changing, in seconds on an idle machine; it
                is stretched by the guest's patience.
            longer: factor on the usual time limit for reading elements.
        """
        ...

    async def act(
        self, actions: Sequence[Action], /, *, held: ScreenPrecondition | None = None
    ) -> None:
        """See `Environment.act`, and for ``held`` `hisa.protocols.ActsWhereUnchanged`.

        A guest without the capability "unchanged" ignores ``held``.
        """
        ...

    async def execute(
        self, command: str | Sequence[str], *, timeout: float, limit: int
    ) -> CommandResult:
        """See `Environment.execute`.

        Args:
            command: a bash line, or a program and its arguments.
            timeout: most seconds that it may run; the guest's own maximum caps it.
            limit: most characters of each of its outputs that are kept.
        """
        ...

    async def read_file(self, path: str, /, *, limit: int) -> bytes:
        """See `Environment.read_file`."""
        ...

    async def write_file(self, path: str, data: bytes, /) -> None:
        """See `Environment.write_file`."""
        ...


class ResponseTooLarge(Exception):
    """A response is longer than the caller's limit; the rest of it was not read."""


class NoResponse(EnvironmentFailed):
    """The guest sent no response, or not all of it."""


def guest_failure(where: str, message: str, fix: str = "hisa doctor") -> EnvironmentFailed:
    """Returns the error of a machine that failed or responded wrongly.

    Args:
        where: its address as printed in errors.
        message: what went wrong.
        fix: the command that helps.
    """
    return EnvironmentFailed(f"{where}: {message}", fix=fix)


def acting_seconds(actions: Sequence[Action]) -> float:
    """Estimates the seconds that the actions take by themselves."""
    total = 0.0
    for action in actions:
        match action:
            case Sleep(seconds=seconds):
                total += seconds
            case Move(duration=seconds) | Drag(duration=seconds):
                total += seconds + 0.5
            case Write(text=text, interval=interval):
                total += len(text) * (interval + 0.02)
            case _:
                total += 0.5
    return total


class GuestClient:
    """An HTTP client of one guest.

    Args:
        where: its address as printed in errors.
        url: base address; with ``socket``, any host name will do.
        socket: path of a unix socket.
        token: bearer token; empty for none.
        patience: multiplies every time limit; limits for a guest on this machine also stretch with
            the machine's load.
    """

    def __init__(
        self,
        where: str,
        *,
        url: str = "",
        socket: str = "",
        token: str = "",
        patience: float = 1.0,
    ) -> None:
        self.where = where
        self._patience = patience
        self.near = bool(socket) or httpx.URL(url).host in {"127.0.0.1", "localhost", "::1"}
        base = httpx.URL(url or "http://guest")
        # Nothing is trusted over plain HTTP, and reading the certificates takes 20 ms.
        plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        verify = httpx.create_ssl_context() if base.scheme == "https" else plain
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.AsyncClient(
            base_url=base,
            headers={"Accept-Encoding": "identity", **headers},
            transport=httpx.AsyncHTTPTransport(uds=socket or None, verify=verify),
            timeout=_CONNECT_SECONDS,
            trust_env=False,
        )

    @property
    def patience(self) -> float:
        """The factor by which time limits for the guest are stretched now."""
        return self._patience * (slowness() if self.near else 1.0)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        seconds: float = 30.0,
        total_seconds: float = 0.0,
        again: bool = True,
        most: int | None = None,
        **more: Any,
    ) -> HttpResponse:
        """Send a request and read the whole response.

        Args:
            method: HTTP method.
            path: route.
            seconds: time limit of one try, and of each pause in it.
            total_seconds: time limit of one try if that is longer: a file comes in many pieces.
            again: whether to send the request again if its response was lost; a request that
                certainly did not arrive is always sent again.
            most: bytes of the longest response that is read; None: 256 MiB, and a longer response
                counts as none.
            more: further arguments of ``httpx.AsyncClient.build_request``.

        Raises:
            ResponseTooLarge: the response is longer than ``most``.
            NoResponse: no response after all tries.
            EnvironmentFailed: the guest refuses the token; the caller handles every other status.
        """
        factor = self.patience
        seconds, total_seconds = seconds * factor, total_seconds * factor
        limit = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS * factor))
        for left in reversed(range(_TRIES)):
            try:
                # A guest that sends a byte now and then would never pass the limit of a pause.
                async with asyncio.timeout(max(total_seconds, seconds)):
                    response = await self._once(method, path, limit, most, **more)
            except (httpx.HTTPError, TimeoutError) as error:
                if not left or not (again or _was_unsent(error)):
                    raise self._build_no_response(method, path, error) from error
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return self._check_token(response)
        raise AssertionError("unreachable: the last try returns or raises")

    def _build_no_response(self, method: str, path: str, error: Exception) -> NoResponse:
        why = f"{type(error).__name__} {error}".strip()
        message = f"{self.where}: no answer to {method} {path}: {why}"
        return NoResponse(message, fix="hisa doctor")

    def _check_token(self, response: HttpResponse) -> HttpResponse:
        if response.status_code == 401:
            fix = "export HISA_GUEST_TOKEN=…, the token with which the guest was started"
            raise guest_failure(self.where, "the guest refuses the token", fix)
        return response

    async def _once(
        self, method: str, path: str, limit: httpx.Timeout, most: int | None, **more: Any
    ) -> HttpResponse:
        request = self._client.build_request(method, path, timeout=limit, **more)
        response = await self._client.send(request, stream=True)
        try:
            if most is None:
                content = await read_bounded(response, _MOST)
            else:
                refusal = 0 if response.status_code == 200 else _REFUSAL_BYTES
                content = await _read_or_refuse(response, max(most, refusal))
        finally:
            await response.aclose()
        return HttpResponse(response.status_code, dict(response.headers), content)


def _was_unsent(error: Exception) -> bool:
    return isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))


async def _read_or_refuse(response: httpx.Response, most: int) -> bytes:
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise ResponseTooLarge(f"{declared} bytes; at most {most}")
    try:
        return await read_bounded(response, most)
    except ResponseTooLong as error:
        raise ResponseTooLarge(f"over {most} bytes") from error


def reason(response: HttpResponse) -> str:
    """Returns the message of an error response, or its HTTP status and the start of its text."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if isinstance(body, dict):
        message = body.get("error") or body.get("message")
        if message:
            return str(message)[:500]
    return f"HTTP {response.status_code}: {response.text[:200]}"
