"""Serves the page until a signal comes."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hisa.cli.out import say_error
from hisa.config import Settings
from hisa.plugins.live.server.application import LiveParts, application
from hisa.plugins.live.server.run_folders import RunFolders
from hisa.plugins.live.server.security import BODY_LIMIT
from hisa.plugins.live.server.server_context import ServerContext

__all__ = ["LiveServer"]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_GRACE = 1
"""Seconds that open connections have at the end; streams end by themselves before."""


class LiveServer:
    """One server with a token of its own.

    Args:
        settings: the effective settings.
        source: file and assignments that the settings were made of, for runs that it starts.
        roots: folders of runs or benches; empty: those of the settings.
        tls: files of the certificate and of its key; None: no TLS.
    """

    def __init__(
        self,
        settings: Settings,
        source: tuple[Path | None, Sequence[str]],
        roots: Sequence[Path],
        *,
        tls: tuple[Path | None, Path | None] = (None, None),
    ) -> None:
        given = tuple(root.absolute() for root in roots)
        runs = given or (settings.run.folder.absolute(),)
        context = ServerContext(settings, runs, given or (Path.cwd() / "benches",))
        self._parts = LiveParts(context, RunFolders(context))
        self._tls = tls
        self._hosts = set(_LOOPBACK)
        self.token = secrets.token_urlsafe(32)

    def has_runs(self) -> bool:
        """Whether there is anything to show."""
        return bool(self._parts.folders.newest(1))

    def address(self, host: str, port: int) -> str:
        """The address for a browser, with the token; from now on the server answers for it."""
        name = f"[{host.strip('[]')}]" if ":" in host else host
        self._hosts.add(name)
        return f"{'https' if self._tls[0] else 'http'}://{name}:{port}/#token={self.token}"

    def serve(self, bound: socket.socket) -> None:
        """Serves on a socket that listens, until SIGINT or SIGTERM."""
        asyncio.run(self._serve(bound))

    async def _serve(self, bound: socket.socket) -> None:
        import uvicorn

        class Server(uvicorn.Server):
            """Leaves signals to us: the library's own handler ends the process before our end."""

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        logging.getLogger("uvicorn.error").addHandler(_SafeLines())
        certificate, key = self._tls
        config = uvicorn.Config(
            application(self._parts, self.token, self._hosts), log_config=None, access_log=False,
            log_level="warning", lifespan="off", ws="wsproto", ws_max_size=BODY_LIMIT,
            server_header=False, proxy_headers=False, timeout_graceful_shutdown=_GRACE,
            ssl_certfile=certificate, ssl_keyfile=key,
        )  # fmt: skip
        server, loop = Server(config), asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            # Looked up late: the library of streams puts its own in, which ends them.
            loop.add_signal_handler(number, lambda n=number: server.handle_exit(n, None))
        await server.serve(sockets=[bound])


class _SafeLines(logging.Handler):
    """Prints what the libraries complain of; requests in it steer no terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        """Prints a record, but for a request that was cut off at the end of the server."""
        if record.exc_info is None or record.exc_info[0] is not asyncio.CancelledError:
            say_error(self.format(record))
