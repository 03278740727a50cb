"""``hisa serve``: serves the live page of runs and desktops."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from hisa.cli.out import examples, say, say_error
from hisa.errors import UsageError
from hisa.machine.stop_signals import on_stop_signals

__all__ = ["serve"]

_HOST = "127.0.0.1"
_ROOT = "A folder of runs or benches; repeatable (default: runs and benches)."
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(epilog=examples("hisa serve --open", "hisa serve --port 8765 --root benches"))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; 0: any free one.")
@click.option("--root", "roots", multiple=True, type=_FOLDER, metavar="DIR", help=_ROOT)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.pass_context
def serve(ctx: click.Context, port: int, roots: tuple[Path, ...], opens: bool) -> None:
    """Serve a page to watch runs live, pause them, answer, and take over a run's machine.

    Anybody who has the printed address can use the page: a token in it keeps everybody else out,
    and expires with the server. Ctrl-C ends the server; the runs continue.

    Exit status: 0 ended by Ctrl-C; 2 wrong usage, such as a port that is in use.
    """
    from hisa.machine.parts import install_command, list_missing

    if lacking := list_missing("live"):
        raise UsageError(f"the page needs {', '.join(lacking)}", fix=install_command("live"))
    from hisa.plugins.live.server.application import application
    from hisa.plugins.live.server.security import Guard
    from hisa.plugins.live.server.server_context import ServerContext

    bound, token = _bound(port), secrets.token_urlsafe(32)
    url = f"http://{_HOST}:{bound.getsockname()[1]}/#token={token}"
    runs = tuple(root.absolute() for root in roots or (ctx.obj.run.folder,))
    if not any(root.is_dir() and any(root.iterdir()) for root in runs):
        say('no runs yet; start one: hisa run "TASK"', err=True)
    say(f"serving {url}")
    say("Ctrl-C ends it; anybody who has this address can use the page", err=True)
    if opens:
        click.launch(url)
    context = ServerContext(ctx.obj, runs, runs if roots else (Path("benches").absolute(),))
    app = application(context)
    asyncio.run(_serve(Guard(app, token, (_HOST, "localhost")), bound))


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        reason = f"cannot listen on port {port} of {_HOST}: {error.strerror}"
        raise UsageError(reason, fix="hisa serve --port 0") from error


async def _serve(app: Any, bound: socket.socket) -> None:
    import uvicorn

    def complain(record: logging.LogRecord) -> None:
        say_error(logging.Formatter().format(record))  # it may quote a request

    def end(number: int) -> None:
        library.disabled = True  # it would complain about streams that are cut off
        server.handle_exit(number, None)

    library = logging.getLogger("uvicorn.error")
    library.handle = complain  # type: ignore[method-assign]
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        log_level="warning",
        lifespan="off",
        ws="wsproto",
        ws_max_size=1 << 20,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    with on_stop_signals(end):
        await server.serve([bound])
