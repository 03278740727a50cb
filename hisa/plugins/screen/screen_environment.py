"""The environment of a person's own screen."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence

import click

from hisa.actions import Action, to_source
from hisa.config import EnvironmentSettings
from hisa.environments.guest_environment import GuestEnvironment
from hisa.plugins.screen.helper_process import HelperProcess
from hisa.plugins.screen.own_machine import Machine, open_machine
from hisa.plugins.screen.screen_transport import ScreenTransport
from hisa.protocols import ScreenPrecondition
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT
from hisa.text.safe_text import safe_line

__all__ = ["DRIVER", "ScreenEnvironment", "announce"]

DRIVER = (sys.executable, "-m", "hisa.plugins.screen")
"""The command that starts the driver."""
_STOP = "press both Shift keys together or push the pointer into a corner of the screen"


def announce(text: str) -> None:
    """Say at the terminal, and in its title, what is about to happen."""
    if sys.stderr.isatty():
        line = safe_line(text, 200)
        click.echo(f"\x1b]0;HiSA: {line}\x07\r\x1b[K  next     {line}", err=True)


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
        self.machine = Machine()

    @property
    def name(self) -> str:
        """The environment's name as printed."""
        return f"screen:{self._monitor}" if self._monitor else "screen"

    async def reset(self) -> None:
        """Leaves the screen as it is: it belongs to a person."""

    async def _start(self) -> None:
        """Start, and take a picture: a screen that is all black is not planned on."""
        self.driver.start()
        transport = ScreenTransport(self.driver, self.machine, self.note)
        await transport.take()
        await open_machine(self.machine, self.driver, self._display, self._settings, self.note)
        self._open = transport
        self.note(f"to end the run at once, {_STOP}")

    async def _close(self) -> None:
        transport = self._open
        if isinstance(transport, ScreenTransport) and transport.gaps:
            longest = max(transport.gaps) * 1000
            self.note(
                "between the picture that an act is compared by and the act lay at most "
                f"{longest:.0f} ms, in {len(transport.gaps)} acts"
            )
        await super()._close()

    async def _end(self) -> None:
        await asyncio.to_thread(self.driver.stop)
        await self.machine.close()

    def _stop(self, reason: str) -> None:
        self.note(f"a person ended the run: {reason}")
        self._end_run()

    async def act(self, actions: Sequence[Action], /) -> None:
        """Does the actions, in order, at most once, in the window that was in front before."""
        if actions:
            await self._prepare(actions)
        await super().act(actions)

    async def act_where_unchanged(
        self, actions: Sequence[Action], held: ScreenPrecondition, /
    ) -> None:
        """Does the actions if a picture taken right before them shows what it should."""
        await self._prepare(actions)
        await super().act_where_unchanged(actions, held)

    async def _prepare(self, actions: Sequence[Action]) -> None:
        """Say what comes, and bring back the window that a question at the terminal covered."""
        announce(to_source(actions))
        await self.driver.ask("restore")
