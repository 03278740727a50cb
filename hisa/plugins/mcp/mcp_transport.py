"""Serves MCP clients over standard input and output, or HTTP on this machine alone."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hisa.cli.out import say
from hisa.errors import UsageError
from hisa.plugins.mcp.mcp_offer import Offer

__all__ = ["serve_forever"]

_ADDRESS = "127.0.0.1"
_GRACE = 5
"""Seconds that open connections have at the end; a client that listens never closes its own."""


def serve_forever(offer: Offer, *, port: int | None, token_env: str) -> None:
    """Serve until the client has gone, or a signal comes.

    Args:
        offer: what it serves.
        port: of HTTP; None: standard input and output.
        token_env: the variable that holds the token of HTTP clients; empty: one is made, and told.

    Raises:
        UsageError: the port is taken, or the variable is not set.
    """
    token = _token(token_env, port)
    if port is None:
        asyncio.run(_stdio(offer))
    else:
        asyncio.run(_http(offer, _bound(port), token, made=not token_env))


async def _stdio(offer: Offer) -> None:
    """Serve one client."""
    stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stopped(number: int) -> None:
        if not stop.done():
            stop.set_result(number)

    _on_signals(stopped)
    # The package's own standard output is for the protocol alone; prints go to standard error.
    serving = asyncio.create_task(offer.server.run_stdio_async())
    waits: list[asyncio.Future[Any]] = [serving, stop]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    await offer.close()
    if stop.done():
        os._exit(128 + stop.result())  # a thread waits for standard input, and cannot be ended
    serving.result()


async def _http(offer: Offer, bound: socket.socket, token: str, *, made: bool) -> None:
    import uvicorn  # only for HTTP

    class Server(uvicorn.Server):
        """Tells its address once it listens, and leaves signals to us.

        The library's own handler ends the process before the desktops are ended.
        """

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            say(f"serving MCP on http://{_ADDRESS}:{port}/mcp; Ctrl-C ends it", err=True)
            if made:
                say(f"clients have to send: Authorization: Bearer {token}", err=True)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    port = bound.getsockname()[1]
    app: _App = offer.server.streamable_http_app(host=_ADDRESS)
    config = uvicorn.Config(
        _with_token(app, token),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_GRACE,
    )
    server = Server(config)
    _on_signals(lambda number: server.handle_exit(number, None))
    try:
        await server.serve(sockets=[bound])
    finally:
        await offer.close()


def _on_signals(stopped: Callable[[int], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped, number)


_Send = Callable[[dict[str, Any]], Awaitable[None]]
_App = Callable[[Any, Any, Any], Awaitable[None]]


def _with_token(app: _App, token: str) -> _App:
    """Another application, for requests that show the token."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: dict[str, Any], receive: Any, send: _Send) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(shown, wanted):
            head = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": head})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return guarded


def _token(name: str, port: int | None) -> str:
    if not name:
        return secrets.token_urlsafe(32)
    if port is None:
        raise UsageError("--token-env is for --http: standard input and output have one client")
    if not os.environ.get(name):
        raise UsageError(f"--token-env {name}: no such variable is set", fix=f"export {name}=…")
    return os.environ[name]


def _bound(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((_ADDRESS, port))
    except OSError as error:
        made.close()
        raise UsageError(
            f"port {port} of {_ADDRESS} cannot be had: {error.strerror}", fix="--http 0"
        ) from error
    return made
