"""A person's screen for `benchmarks.seen_runs`: X, a window manager, a session bus, a new home."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from benchmarks.bare_display import managed_display, running
from benchmarks.seen_runs_judge import TreeMachine
from hisa.plugins.desktop.guest.session import APPLICATION_ENVIRONMENT
from hisa.plugins.desktop.guest.skeleton import create_home
from hisa.plugins.screen.own_commands import OwnCommands
from hisa.plugins.screen.screen_environment import ScreenEnvironment
from hisa.plugins.screen.screen_transport import ScreenTransport

__all__ = ["HOME", "TreeScreen", "name_home", "person_session"]

HOME = "/home/user"
"""The home of a private desktop, which tasks name; on a screen it is the person's own."""


class TreeScreen(TreeMachine, ScreenEnvironment):
    """A screen whose programs and files are the person's, and whose tree the benchmark can read.

    HiSA's commands would be caged on Linux, and what they open would report no elements. Tasks are
    prepared and checked as on systems without a cage: as the person, who opened the programs.
    """

    async def _start(self) -> None:
        await super()._start()
        assert isinstance(self._open, ScreenTransport)
        self._open.commands = OwnCommands()


@contextmanager
def person_session() -> Iterator[None]:
    """Opens a session that this process belongs to: its home, display and buses are new."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        home, runtime = Path(folder, "home"), Path(folder, "run")
        create_home(home)
        runtime.mkdir(mode=0o700)
        bus = f"unix:path={runtime}/bus"
        variables = {
            **APPLICATION_ENVIRONMENT,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(runtime),
            "XAUTHORITY": os.devnull,
            "DBUS_SESSION_BUS_ADDRESS": bus,
            "XDG_SESSION_TYPE": "x11",
        }
        stack.enter_context(patch.dict(os.environ, variables))
        display = stack.enter_context(managed_display())
        stack.enter_context(patch.dict(os.environ, {"DISPLAY": display}))
        line = ("dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={bus}")
        stack.enter_context(running(*line, display=display))
        while not (runtime / "bus").exists():
            time.sleep(0.02)
        yield


def name_home(text: str) -> str:
    """Returns a text that names the home of this process in place of a private desktop's."""
    return text.replace(HOME, os.environ["HOME"])
