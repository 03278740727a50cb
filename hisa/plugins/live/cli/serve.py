"""``hisa serve``: the live page over runs, desktops, benches and patterns."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hisa.cli.out import examples, say
from hisa.errors import UsageError

if TYPE_CHECKING:
    from hisa.config import Settings

__all__ = ["serve"]

_HOST = "The address to listen on; another than this machine's own wants --tls-cert and --tls-key."
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
    from hisa.machine.parts import install_command, missing

    if lacking := missing("live"):
        raise UsageError(f"the page needs {', '.join(lacking)}", fix=install_command("live"))
    address = _address(host)
    if bool(tls_cert) != bool(tls_key) or not (
        tls_cert or ipaddress.ip_address(address).is_loopback
    ):
        raise UsageError(
            f"--host {host}: who listens to the network would read the token; TLS hides it",
            fix=f"hisa serve --host {host} --tls-cert FILE --tls-key FILE; or without --host",
        )
    from hisa.plugins.live.server.live_server import LiveServer

    bound = _bound(address, port)
    settings: Settings = ctx.obj
    server = LiveServer(settings, ctx.meta["hisa.settings"], roots, tls=(tls_cert, tls_key))
    url = server.address(host, bound.getsockname()[1])
    if not server.has_runs():
        say('no runs yet: start one on the page, or by hisa run "TASK"', err=True)
    say(f"serving {url}", err=False)
    say("Ctrl-C ends it; keep the address to yourself", err=True)
    if opens:
        import webbrowser

        webbrowser.open(url)
    server.serve(bound)


def _address(host: str) -> str:
    """The number of an address.

    Raises:
        UsageError: the name is not known here.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(
            f"--host {host}: {error.strerror or error}", fix="hisa serve --host 127.0.0.1"
        ) from error
    return str(found[0][4][0])


def _bound(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
    except OSError as error:
        made.close()
        raise UsageError(
            f"port {port} of {address} cannot be had: {error.strerror}", fix="hisa serve --port 0"
        ) from error
    made.listen(128)
    return made
