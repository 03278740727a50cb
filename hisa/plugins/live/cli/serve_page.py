"""``hisa serve``: the live page over runs, desktops, benches and patterns."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
import signal
import socket
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from hisa.cli.out import examples, say, say_error
from hisa.errors import UsageError

__all__ = ["serve"]

_HOST = "The address to listen on; another than loopback wants --tls-cert and --tls-key."
_ROOT = "A folder of runs or of benches; may be given again. By default runs and benches."
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(epilog=examples("hisa serve --open", "hisa serve --port 8765 --root benches"))
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help=_HOST)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: any that is free.")
@click.option("--root", "roots", multiple=True, type=_FOLDER, metavar="DIR", help=_ROOT)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option("--tls-cert", type=_FILE, metavar="FILE", help="A certificate, as PEM.")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="Its key, as PEM.")
@click.pass_context
def serve(
    ctx: click.Context, /, host: str, port: int, roots: tuple[Path, ...], opens: bool, **tls: Any
) -> None:
    """Show runs live on a page: watch, start, pause, answer, and take a run's machine over.

    The page is for whoever has the address that is printed: a token in it keeps everybody else
    out, and ends with the server. Ctrl-C ends the server: runs begun in a terminal go on, those
    begun on the page are stopped, and "hisa runs resume ID" goes on with them.

    Exit status: 0 ended by Ctrl-C; 2 wrong usage, such as a port that is taken.
    """
    from hisa.machine.parts import install_command, missing

    if lacking := missing("live"):
        raise UsageError(f"the page needs {', '.join(lacking)}", fix=install_command("live"))
    from hisa.plugins.live.server.application import application
    from hisa.plugins.live.server.security import Guard
    from hisa.plugins.live.server.server_context import ServerContext
    from hisa.plugins.live.server.started_runs import StartedRuns

    if any(tls.values()) != all(tls.values()):
        raise UsageError("--tls-cert and --tls-key belong together", fix="hisa serve --help")
    bound = _bound(host.strip("[]"), port, secure=all(tls.values()))
    name = f"[{host.strip('[]')}]" if ":" in host else host
    token, scheme = secrets.token_urlsafe(32), "https" if all(tls.values()) else "http"
    url = f"{scheme}://{name}:{bound.getsockname()[1]}/#token={token}"
    runs = tuple(root.absolute() for root in roots or (ctx.obj.run.folder,))
    if not any(root.is_dir() and any(root.iterdir()) for root in runs):
        say('no runs yet: start one on the page, or by hisa run "TASK"', err=True)
    say(f"serving {url}")
    say("Ctrl-C ends it; the address lets anybody in who has it", err=True)
    if opens:
        click.launch(url)
    file, assignments = ctx.meta["hisa.settings"]
    options = [f"--config={file}"] * bool(file) + [
        f"--set={assignment}" for assignment in assignments
    ]
    context = ServerContext(ctx.obj, runs, runs if roots else (Path("benches").absolute(),))
    app = application(context, StartedRuns(runs[0], options))
    guard = Guard(app, token, ("127.0.0.1", "localhost", "[::1]", name))
    asyncio.run(_serve(guard, bound, {f"ssl_{k[4:]}file": path for k, path in tls.items()}))


def _bound(host: str, port: int, *, secure: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = f"port {port} of {host} cannot be had: {error.strerror}"
        raise UsageError(reason, fix="hisa serve --port 0") from error
    if not secure and not ipaddress.ip_address(bound.getsockname()[0]).is_loopback:
        bound.close()
        reason = f"--host {host}: who listens to the network would read the token; TLS hides it"
        raise UsageError(reason, fix=f"hisa serve --host {host} --tls-cert FILE --tls-key FILE")
    return bound


async def _serve(app: Any, bound: socket.socket, files: dict[str, Any]) -> None:
    import uvicorn

    def complain(record: logging.LogRecord) -> None:
        say_error(logging.Formatter().format(record))  # a request in it steers no terminal

    def end(number: int) -> None:
        library.disabled = True  # it would complain of streams that are cut off
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
        **files,
    )
    try:
        config.load()
    except OSError as error:
        raise UsageError(f"TLS: {error}", fix="openssl x509 -in FILE -noout") from error
    server = uvicorn.Server(config)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    await server.serve([bound])
