"""Starts the guest: ``python3 -m guest`` in a fresh desktop, or on a display that exists.

The token is the first line of standard input; ``--compat`` asks for none and must be said.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

from .confine import Limits, confine, own_keyring
from .sandbox import sandbox
from .session import APPLICATION_ENVIRONMENT, Session

__all__ = ["main"]

_BACKGROUND = 0x2E5A7D  # chosen by hand
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="guest", description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--session", metavar="WxH", help="start a desktop of this size first")
    where.add_argument("--display", metavar=":N", help="use this display")
    parser.add_argument(
        "--fd", type=int, required=True, help="a listening socket that was handed down"
    )
    parser.add_argument("--ready", type=int, help="descriptor on which to say that it is ready")
    parser.add_argument("--idle", type=float, default=0.0, help="end after so many seconds; 0: no")
    parser.add_argument("--compat", action="store_true", help="ask for no token")
    parser.add_argument("--parent", action="store_true", help="end when the parent ends")
    parser.add_argument("--limits", type=Limits.parse, help="PROCESSES,MEMORY_MB,OPEN_FILES")
    parser.add_argument("--cage", default="", help="put commands in bubblewrap, this folder open")
    return parser.parse_args()


def _watch_idle(seconds: float, idle: Callable[[], float], stop: Callable[[], None]) -> None:
    while idle() < seconds:
        time.sleep(min(5.0, max(0.05, seconds - idle())))
    stop()


def _await_window_manager(has_one: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not has_one():
        if time.monotonic() > deadline:
            raise RuntimeError("the window manager did not come up")
        time.sleep(0.005)


def main() -> int:
    """Start, say so, serve until told to stop or idle for too long."""
    arguments = _arguments()
    if arguments.parent:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    token = None if arguments.compat else sys.stdin.readline().strip()
    if token == "":
        sys.stderr.write("no token on standard input, and no --compat\n")
        return 2
    if arguments.session and arguments.limits is not None:
        confine(arguments.limits)
    if arguments.session:
        width, height = map(int, arguments.session.split("x"))
        Session(width, height).start()
    else:
        own_keyring()
        os.environ.update({**APPLICATION_ENVIRONMENT, "DISPLAY": arguments.display})
    serve(arguments, token)
    return 0


def serve(arguments: argparse.Namespace, token: str | None) -> None:
    """Everything that needs the display, imported when there is one."""
    from .access import Access
    from .actor import Actor
    from .http_server import GuestServer
    from .osworld_routes import OSWorldRoutes
    from .settle import work_done
    from .typed_routes import TypedRoutes
    from .x_screen import Screen

    screen = Screen()
    access = Access(screen)
    own = frozenset({1, os.getpid()})
    work = (lambda: work_done(own)) if arguments.session else None
    display = arguments.display
    limits = arguments.limits or Limits()
    wrap = sandbox(display, arguments.cage, os.environ, limits) if display else None
    actor = Actor(screen, work=work)
    typed = TypedRoutes(
        screen,
        actor,
        access,
        work=work,
        wrap=wrap,
        cage=arguments.cage,
    )
    # The stock routes write wherever they are told, whatever links lie there.
    stock = OSWorldRoutes(screen, access).routes() if arguments.session else {}
    server = GuestServer(socket.socket(fileno=arguments.fd), {**stock, **typed.routes()}, token)
    if arguments.session:
        _await_window_manager(screen.has_window_manager)
        screen.paint_background(_BACKGROUND)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    if arguments.idle:
        watch = (arguments.idle, server.idle_seconds, server.shutdown)
        threading.Thread(target=_watch_idle, args=watch, daemon=True).start()
    if arguments.ready is not None:
        os.write(arguments.ready, b"ready\n")
        os.close(arguments.ready)
    server.serve_forever(poll_interval=0.5)
    if arguments.display:  # a desktop of its own ends with it
        actor.release()


if __name__ == "__main__":
    sys.exit(main())
