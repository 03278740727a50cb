"""``hisa serve``: the live page over runs, desktops, benches and patterns."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from hisa.cli.out import examples, say
from hisa.errors import UsageError

__all__ = ["serve"]

_HOST = "The address to listen on; another than loopback wants --tls-cert and --tls-key."
_PORT = "The port to listen on; 0: any that is free."
_ROOT = "A folder of runs or of benches; may be given again. By default runs and benches."
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command(
    epilog=examples(
        "hisa serve --open",
        "hisa serve --port 8765 --root runs --root benches",
        "hisa serve --host 192.0.2.7 --tls-cert cert.pem --tls-key key.pem",
    )
)
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help=_HOST)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help=_PORT)
@click.option("--root", "roots", multiple=True, type=_FOLDER, metavar="DIR", help=_ROOT)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option("--tls-cert", type=_FILE, metavar="FILE", help="A certificate, as PEM.")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="Its key, as PEM.")
@click.pass_context
def serve(
    ctx: click.Context,
    *,
    host: str,
    port: int,
    roots: tuple[Path, ...],
    opens: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> None:
    """Show runs live on a page: watch, start, pause, answer, and take a run's machine over.

    The page is for whoever has the address that is printed: a token in it keeps everybody else
    out, and ends with the server. Ctrl-C ends the server: runs begun in a terminal go on, those
    begun on the page are stopped, and "hisa runs resume ID" goes on with them.

    Exit status: 0 ended by Ctrl-C; 2 wrong usage, such as a port that is taken.
    """
    import asyncio
    import secrets

    from hisa.machine.parts import install_command, missing

    if lacking := missing("live"):
        raise UsageError(f"the page needs {', '.join(lacking)}", fix=install_command("live"))
    from hisa.plugins.live.server.live_server import serve_page
    from hisa.plugins.live.server.server_context import ServerContext

    bound = _bound(host.strip("[]"), port, secure=bool(tls_cert and tls_key))
    name, token = f"[{host.strip('[]')}]" if ":" in host else host, secrets.token_urlsafe(32)
    runs = tuple(root.absolute() for root in roots or (ctx.obj.run.folder,))
    benches = runs if roots else (Path("benches").absolute(),)
    file, assignments = ctx.meta["hisa.settings"]
    arguments = [f"--config={file}"] * bool(file) + [f"--set={each}" for each in assignments]
    url = f"http{'s' * bool(tls_cert)}://{name}:{bound.getsockname()[1]}/#token={token}"
    if not any(root.is_dir() and any(root.iterdir()) for root in runs):
        say('no runs yet: start one on the page, or by hisa run "TASK"', err=True)
    say(f"serving {url}")
    say("Ctrl-C ends it; the address lets anybody in who has it", err=True)
    if opens:
        click.launch(url)
    context = ServerContext(ctx.obj, runs, benches)
    tls = tls_cert, tls_key
    asyncio.run(serve_page(context, bound, token, host=name, arguments=arguments, tls=tls))


def _bound(host: str, port: int, *, secure: bool) -> socket.socket:
    """Listens; what comes waits until the server is there.

    Raises:
        UsageError: the port is taken, or others would read along.
    """
    import ipaddress

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"port {port} of {host} cannot be had: {error.strerror}",
            fix="hisa serve --port 0" if port else "hisa serve --host 127.0.0.1",
        ) from error
    if not secure and not ipaddress.ip_address(bound.getsockname()[0]).is_loopback:
        bound.close()
        raise UsageError(
            f"--host {host}: who listens to the network would read the token; TLS hides it",
            fix=f"hisa serve --host {host} --tls-cert FILE --tls-key FILE; or without --host",
        )
    return bound
