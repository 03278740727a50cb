"""Serves the guest's routes on a display until it is stopped or idle too long."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import threading
import time
from collections.abc import Callable

from .access import Access
from .actor import Actor
from .confinement import Limits
from .http_server import GuestServer
from .osworld_routes import OSWorldRoutes
from .sandbox import sandbox
from .screen_settling import work_done
from .typed_routes import TypedRoutes
from .x_screen import Screen

__all__ = ["serve"]

_BACKGROUND = 0x2E5A7D  # chosen by hand


def serve(arguments: argparse.Namespace, token: str) -> None:
    """Reports that the guest is ready, and serves requests.

    Args:
        arguments: the program's arguments; see `guest.__main__`.
        token: the bearer token that every request must have.
    """
    screen = Screen()
    access = Access(screen)
    own = frozenset({1, os.getpid()})
    work = (lambda: work_done(own)) if arguments.session else None
    display, cage = arguments.display, arguments.cage
    limits = arguments.limits or Limits()
    wrap = sandbox(display, cage, os.environ, limits) if display else None
    actor = Actor(screen, work=work)
    typed = TypedRoutes(screen, actor, access, work=work, wrap=wrap, cage=cage)
    # The stock routes write to any path and follow links, so only a private desktop has them.
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
    if display:  # a private desktop ends with the guest
        actor.release()


def _watch_idle(seconds: float, idle: Callable[[], float], stop: Callable[[], None]) -> None:
    while idle() < seconds:
        time.sleep(min(5.0, max(0.05, seconds - idle())))
    stop()


def _await_window_manager(has_one: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not has_one():
        if time.monotonic() > deadline:
            raise RuntimeError("the window manager did not start")
        time.sleep(0.005)
