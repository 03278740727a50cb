"""Serves the page on a socket that listens, until a signal comes."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hisa.cli.out import say_error
from hisa.plugins.live.server.application import application
from hisa.plugins.live.server.run_client import RunLines
from hisa.plugins.live.server.security import BODY_LIMIT
from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.started_runs import StartedRuns

__all__ = ["serve_page"]

_HOSTS = ("127.0.0.1", "localhost", "[::1]")


async def serve_page(
    context: ServerContext,
    bound: socket.socket,
    token: str,
    *,
    host: str,
    arguments: Sequence[str] = (),
    tls: tuple[Path | None, Path | None] = (None, None),
) -> None:
    """Serves until SIGINT or SIGTERM; the runs that it started end with it, as stopped.

    Args:
        context: settings and folders; new runs go into the first of its roots.
        bound: listens already.
        token: that requests have to show.
        host: a name of the server, besides those of loopback, as a Host header has it.
        arguments: of ``hisa`` for runs that are started, such as ``--config FILE``.
        tls: files of a certificate and its key.
    """
    import uvicorn

    class Server(uvicorn.Server):
        """Leaves signals to us: the library's own handler ends the process before our end."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    complaints = logging.getLogger("uvicorn.error")
    complaints.addHandler(_SafeLines())
    lines, started = RunLines(), StartedRuns(context.roots[0], arguments)
    app = application(replace(context, ask_run=lines.look), started, lines, token, (*_HOSTS, host))
    server = Server(uvicorn.Config(
        app, log_config=None, access_log=False, log_level="warning", lifespan="off", ws="wsproto",
        ws_max_size=BODY_LIMIT, server_header=False, proxy_headers=False,
        timeout_graceful_shutdown=1, ssl_certfile=tls[0], ssl_keyfile=tls[1],
    ))  # fmt: skip

    def end(number: int) -> None:
        complaints.setLevel(logging.CRITICAL)  # of streams that are cut off
        server.handle_exit(number, None)  # as late as this: the library of streams puts its own in

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        await server.serve(sockets=[bound])
    finally:
        await started.stop()


class _SafeLines(logging.Handler):
    """Prints what the libraries complain of, so that no request in it steers the terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        say_error(self.format(record))
