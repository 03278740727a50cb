"""An X server for a test: bare, or with a window manager and something to be seen."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

__all__ = ["bare_display", "managed_display", "running"]


@contextmanager
def running(*words: str, display: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program on a display."""
    process = subprocess.Popen(
        words,
        env={**os.environ, "DISPLAY": display},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def bare_display(size: str = "1280x720", more: Sequence[str] = ()) -> Iterator[str]:
    """Its name, as ``:N``."""
    number, number_in = os.pipe()
    line = ["Xvfb", "-displayfd", str(number_in), "-screen", "0", f"{size}x24", *more]
    server = subprocess.Popen(
        [*line, "-nolisten", "tcp", "-noreset"],
        pass_fds=(number_in,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(number_in)
    with os.fdopen(number, encoding="ascii") as stream:
        name = f":{stream.readline().strip()}"
    try:
        yield name
    finally:
        server.terminate()
        server.wait()


@contextmanager
def managed_display(size: str = "1280x720") -> Iterator[str]:
    """Its name; openbox manages it, and its background is not black."""
    with ExitStack() as stack:
        name = stack.enter_context(bare_display(size))
        stack.enter_context(running("openbox", display=name))
        line = ["xsetroot", "-display", name, "-solid", "#305070"]
        subprocess.run(line, check=True)
        _await_manager(name)
        yield name


def _await_manager(name: str) -> None:
    line = ["wmctrl", "-m"]
    environment = {**os.environ, "DISPLAY": name}
    for _ in range(200):
        if not subprocess.run(line, env=environment, capture_output=True, check=False).returncode:
            return
        time.sleep(0.05)
