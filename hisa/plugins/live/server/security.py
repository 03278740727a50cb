"""Lets in only the person who started the server: checks host, origin, token and size."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

__all__ = ["BODY_LIMIT", "Guard"]

BODY_LIMIT = 1 << 20  # bytes of the body of a request
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(:[0-9]{1,5})?")
_HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; "
    b"img-src 'self' blob:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; "
    b"base-uri 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"cross-origin-resource-policy": b"same-origin",
}
_Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
_Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]


class Guard:
    """Wraps an ASGI application: requests need one of ``hosts``, and all but the page ``token``."""

    def __init__(self, app: Any, token: str, hosts: Iterable[str]) -> None:
        self._app, self._is_token = app, partial(hmac.compare_digest, token.encode())
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Any, receive: _Receive, send: _Send) -> None:
        """Passes on a request or WebSocket that is allowed, and answers all others itself."""
        guarded = self._websocket if scope["type"] == "websocket" else self._request
        await guarded(scope, receive, send)

    async def _request(self, scope: Any, receive: _Receive, send: _Send) -> None:
        async def send_safely(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                others = [pair for pair in message["headers"] if pair[0].lower() not in _HEADERS]
                message = {**message, "headers": [*others, *_HEADERS.items()]}
            await send(message)

        status, reason = self._wrong_address(scope) or self._wrong_request(scope) or (0, "")
        if not status:
            await self._app(scope, receive, send_safely)
            return
        headers = [(b"content-type", b"application/json")]
        await send_safely({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({"error": reason}).encode()})

    async def _websocket(self, scope: Any, receive: _Receive, send: _Send) -> None:
        """Accepts a WebSocket of the page, and waits for the token in its first message."""
        waiting = [await receive()]  # "websocket.connect"
        if self._wrong_address(scope):
            await send({"type": "websocket.close", "code": 1008})
            return
        await send({"type": "websocket.accept"})
        try:
            first = await asyncio.wait_for(receive(), 5.0)
            token = json.loads((first.get("text") or "")[:4096])["token"].encode()
        except (TimeoutError, ValueError, TypeError, LookupError, AttributeError):
            token = b""
        if not self._is_token(token):
            await send({"type": "websocket.close", "code": 4401, "reason": "wrong token"})
            return

        async def receive_on() -> dict[str, Any]:
            return waiting.pop() if waiting else await receive()

        async def send_on(message: dict[str, Any]) -> None:
            if message["type"] != "websocket.accept":
                await send(message)

        await self._app(scope, receive_on, send_on)

    def _wrong_request(self, scope: Any) -> tuple[int, str] | None:
        """Returns the status and the reason to refuse a request; None if it is allowed."""
        free = scope["path"] == "/" or scope["path"].startswith("/static/")
        if not free and not self._is_token(_header(scope, b"authorization")[len("Bearer ") :]):
            return 401, "wrong token: open the address that hisa serve printed"
        length = _header(scope, b"content-length") or b"0"
        if not length.isdigit() or len(length) > 12 or int(length) > BODY_LIMIT:
            return 413, f"more than {BODY_LIMIT} bytes"
        return (411, "a body of unknown length") if _header(scope, b"transfer-encoding") else None

    def _wrong_address(self, scope: Any) -> tuple[int, str] | None:
        host = _header(scope, b"host").decode("latin-1").lower()
        name = _HOST.fullmatch(host)
        if name is None or name[1] not in self._hosts:
            return 421, "this server does not answer for that host"
        if _header(scope, b"origin").decode("latin-1").lower() not in ("", f"http://{host}"):
            return 403, "the request is from a page of another origin"
        return None


def _header(scope: Any, name: bytes) -> bytes:
    """The value of a header; if it came twice, both joined, which is never allowed."""
    return b", ".join(value for key, value in scope["headers"] if key.lower() == name)
