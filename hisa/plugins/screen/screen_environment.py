"""The environment of a person's own screen."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from hisa.config import EnvironmentSettings
from hisa.environments.guest_environment import GuestEnvironment
from hisa.errors import EnvironmentFailed
from hisa.plugins.screen.helper_process import HelperProcess
from hisa.plugins.screen.own_commands import OwnCommands
from hisa.plugins.screen.screen_transport import ALLOW, ScreenTransport
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT

__all__ = ["DRIVER", "ScreenEnvironment"]

DRIVER = (sys.executable, "-m", "hisa.plugins.screen")
"""The command that starts the driver."""
_STOP = "press both Shift keys together or push the pointer into a corner of the screen"


def _interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


class ScreenEnvironment(GuestEnvironment):
    """The screen that a person sits at: one monitor of it, its pointer and its keyboard.

    Args:
        monitor: the number of the monitor, from 1; 0: the primary one.
        display: the X display; empty: that of DISPLAY.
        image_limit: the largest screenshot that models see, in pixels.
        settings: whether elements are read, limits, and whether commands may run as the person.
        note: called with what a reader of the run should know.
        end_run: ends the run at once, as Ctrl-C does.
        driver: the command that starts the driver.
    """

    def __init__(
        self,
        monitor: int = 0,
        *,
        display: str = "",
        image_limit: Size = DEFAULT_IMAGE_LIMIT,
        settings: EnvironmentSettings | None = None,
        note: Callable[[str], None] = lambda _: None,
        end_run: Callable[[], None] = _interrupt,
        driver: Sequence[str] = DRIVER,
    ) -> None:
        super().__init__(image_limit)
        self._settings = settings or EnvironmentSettings()
        self.with_settings(self._settings)
        self._monitor, self._display = monitor, display
        self.note, self._end_run = note, end_run
        here = sys.stdin is not None and sys.stdin.isatty() and "SSH_CONNECTION" not in os.environ
        line = (*driver, str(monitor), *(["terminal"] if here else []))
        self.driver = HelperProcess(line, display=display, on_stop=self._stop)
        self.cage: Any = None
        """HiSA's guest, which cages commands and reads windows and elements on Linux."""

    @property
    def name(self) -> str:
        """The environment's name as printed."""
        return f"screen:{self._monitor}" if self._monitor else "screen"

    async def reset(self) -> None:
        """Leaves the screen as it is: it belongs to a person."""

    async def _start(self) -> None:
        """Start, and take a picture: a screen that is all black is not planned on."""
        await self.driver.start()
        await self.driver.ask("look", 0.0)
        self._open = transport = ScreenTransport(self.driver)
        if sys.platform in ("win32", "darwin"):
            self._open_uncaged(transport)
        else:
            await self._open_cage(transport)
        self.note(f"to end the run at once, {_STOP}")

    def _open_uncaged(self, transport: ScreenTransport) -> None:
        if not self._settings.allow_commands:
            self.note(f"commands do not run; to let them: {ALLOW}")
        elif not shutil.which("bash"):
            self.note("commands do not run: there is no bash on this machine")
        else:
            transport.commands = OwnCommands()
            self.note("commands run as you, without a cage: they can do whatever you can")

    async def _open_cage(self, transport: ScreenTransport) -> None:
        from hisa.plugins.desktop.display_guest import DisplayGuest

        display = self._display or os.environ["DISPLAY"]
        self.cage = DisplayGuest(display, limits=self._settings.limits, note=self.note)
        try:
            transport.guest = transport.commands = await self.cage.start()
        except EnvironmentFailed as error:  # the screen works without it
            change = f"{error}; to change that: {error.fix}"
            self.note(f"no commands, files, windows and elements: {change}")

    async def _close(self) -> None:
        transport = self._open
        if isinstance(transport, ScreenTransport) and transport.gaps:
            longest, acts = max(transport.gaps) * 1000, len(transport.gaps)
            self.note(
                "between the picture that an act is compared by and the act lay at most "
                f"{longest:.0f} ms, in {acts} acts"
            )
        await super()._close()

    async def _end(self) -> None:
        await self.driver.stop()
        if self.cage is not None:
            await self.cage.stop()
            self.cage = None

    def _stop(self, reason: str) -> None:
        self.note(f"a person ended the run: {reason}")
        self._end_run()
