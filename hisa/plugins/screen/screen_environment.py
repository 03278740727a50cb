"""The environment of a person's own screen."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Self

import click

from hisa.actions import Action, to_source
from hisa.actions.held_keys import held_after
from hisa.actions.unchanged_look import REACTION_SECONDS, arrival, require_unchanged
from hisa.config import EnvironmentSettings
from hisa.environments.transport.base import acting_seconds
from hisa.errors import EnvironmentFailed
from hisa.plugins.screen.base import Reading
from hisa.plugins.screen.capture import BLANK_FIX, Shot, is_blank
from hisa.plugins.screen.helper_process import HelperProcess
from hisa.plugins.screen.own_machine import Machine, open_machine
from hisa.plugins.screen.trees import on_picture
from hisa.protocols import FILE_LIMIT, CommandResult, ExitStatus, ScreenPrecondition
from hisa.screen.caret import CARET_HEIGHT, CARET_WIDTH
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT, Observation, Screenshot
from hisa.screen.sight import can_see, see_elements
from hisa.text.safe_text import safe_line

__all__ = ["DRIVER", "ScreenEnvironment", "announce"]

DRIVER = (sys.executable, "-m", "hisa.plugins.screen")
"""The command that starts the driver."""
_POLL_SECONDS = 0.1
_QUIET_SECONDS = 0.3
"""A screen has settled if it shows the same for this long."""
_BLANK_SECONDS = 3.0
"""A screen that stays black longer is locked, or may not be seen; a change of mode is shorter."""
_MOST_SETTLE = 120.0
_TREE_TRIES = 2
"""Readings of a tree while the picture changes; after the last one it counts as incomplete."""


def announce(text: str) -> None:
    """Say at the terminal, and in its title, what is about to happen."""
    if sys.stderr.isatty():
        line = safe_line(text, 200)
        click.echo(f"\x1b]0;HiSA: {line}\x07\r\x1b[K  next     {line}", err=True)


def _interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


class ScreenEnvironment:
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
        self._monitor, self._display = monitor, display
        self._image_limit = image_limit
        self._settings = settings or EnvironmentSettings()
        self.file_limit = self._settings.limits.file_mb << 20 if settings else FILE_LIMIT
        self.note, self._end_run = note, end_run
        here = sys.stdin is not None and sys.stdin.isatty() and "SSH_CONNECTION" not in os.environ
        line = (*driver, str(monitor), *(["terminal"] if here else []))
        self.driver = HelperProcess(line, display=display, on_stop=self._stop)
        self._machine: Machine | None = None
        self._held: tuple[str, ...] = ()
        self._gaps: list[float] = []
        self._fallback = ""

    @property
    def name(self) -> str:
        """The environment's name as printed."""
        return f"screen:{self._monitor}" if self._monitor else "screen"

    @property
    def capabilities(self) -> frozenset[str]:
        """Elements if a tree or the eyes report them, commands where they may run."""
        able = set()
        if self._reads_tree or can_see():
            able.add("elements")
        if self._machine is not None and self._machine.commands is not None:
            able.add("execute")
        return frozenset(able)

    @property
    def _reads_tree(self) -> bool:
        reader = None if self._machine is None else self._machine.reader
        return self._settings.elements and reader is not None and reader.reads_elements

    @property
    def machine(self) -> Machine:
        """Commands, files and trees of this machine.

        Raises:
            EnvironmentFailed: the environment was not started.
        """
        if self._machine is None:
            raise EnvironmentFailed(f"{self.name}: not started", fix="use it as `async with`")
        return self._machine

    async def __aenter__(self) -> Self:
        """Start, and take a picture: a screen that is all black is not planned on."""
        try:
            self.driver.start()
            await self._take()
            self._machine = await open_machine(
                self.driver, self._display, self._settings, self.note
            )
        except BaseException:
            await self.__aexit__()
            raise
        self.note(
            "to end the run at once, press both Shift keys together or push the pointer into a "
            "corner of the screen"
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Release all keys and buttons, and end what was started."""
        await asyncio.to_thread(self.driver.stop)
        machine, self._machine = self._machine, None
        if machine is not None:
            await machine.close()
        if self._gaps:
            self.note(
                f"between the last comparison of the screen and the act lay at most "
                f"{max(self._gaps) * 1000:.0f} ms in {len(self._gaps)} acts"
            )
            self._gaps = []

    def _stop(self, reason: str) -> None:
        self.note(f"a person ended the run: {reason}")
        self._end_run()

    async def reset(self) -> None:
        """Leaves the screen as it is: it belongs to a person."""

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Take a look at the monitor.

        If it has no tree, elements are seen on the picture, where that is installed.
        """
        shot, pointer, _ = await self._settle(min(settle, _MOST_SETTLE))
        reading = Reading(windows_known=False)
        reader = None if self._machine is None else self._machine.reader
        if reader is not None:
            wanted = elements and self._settings.elements
            for _ in range(_TREE_TRIES):
                reading = await reader.read(elements=wanted)
                before, (shot, pointer, _) = shot, await self._take()
                if not wanted or _is_same(before, shot):
                    break
            else:
                reading = Reading(reading.windows, reading.elements, False, reading.windows_known)
        reading = on_picture(reading, shot.mapping)
        observation = await asyncio.to_thread(self._build, shot, pointer, reading)
        if elements and observation.elements is None and can_see():
            return await asyncio.to_thread(see_elements, observation)
        return observation

    def _build(self, shot: Shot, pointer: tuple[float, float], reading: Reading) -> Observation:
        size = Size(shot.width, shot.height)
        return Observation(
            screenshot=Screenshot.from_rgb(size, shot.rgb).fit_to(self._image_limit),
            screen=size,
            windows=reading.windows,
            elements=reading.elements,
            complete=reading.complete,
            windows_known=reading.windows_known,
            cursor=Point(*pointer, "screen"),
            held=self._held,
        )

    async def _settle(self, seconds: float) -> tuple[Shot, tuple[float, float], float]:
        """Take pictures until they show the same for a moment, or the time is over."""
        look = await self._take()
        end, same_since = time.monotonic() + seconds, time.monotonic()
        while (now := time.monotonic()) < end and now - same_since < _QUIET_SECONDS:
            await asyncio.sleep(_POLL_SECONDS)
            before, look = look, await self._take()
            if not _is_same(before[0], look[0]):
                same_since = time.monotonic()
        return look

    async def _take(self) -> tuple[Shot, tuple[float, float], float]:
        """Take a picture that is not all black; returns it, the pointer, and the driver's time."""
        end = time.monotonic() + _BLANK_SECONDS
        while True:
            shot, pointer, at, fallback = await self.driver.ask("look")
            if fallback and fallback != self._fallback:
                self._fallback = fallback
                self.note(f"PyAutoGUI takes the pictures, because mss cannot: {fallback}")
            if not is_blank(shot.rgb):
                return shot, pointer, at
            if time.monotonic() > end:
                raise EnvironmentFailed(
                    f"{self.name}: the screenshot is all black: the screen is locked or off, or "
                    "this program may not see it",
                    fix=BLANK_FIX,
                )
            await asyncio.sleep(_POLL_SECONDS)

    async def act(self, actions: Sequence[Action], /) -> None:
        """Does the actions, in order, at most once."""
        if actions:
            announce(to_source(actions))
            await self.driver.ask("restore")
            await self._do(actions)

    async def _do(self, actions: Sequence[Action]) -> float:
        self._held = held_after(actions, self._held)
        began: float = await self.driver.ask(
            "act", tuple(actions), seconds=60.0 + acting_seconds(actions)
        )
        return began

    async def act_where_unchanged(
        self, actions: Sequence[Action], held: ScreenPrecondition, /
    ) -> None:
        """Does the actions if a picture taken right before them shows what it should."""
        announce(to_source(actions))
        await self.driver.ask("restore")
        arriving, rest = arrival(actions)
        if arriving:
            await self._do(arriving)
            await asyncio.sleep(REACTION_SECONDS)
        reader = self.machine.reader
        reading = Reading(windows_known=False)
        if reader is not None:
            reading = await reader.read(elements=False)
        shot, pointer, at = await self._take()
        now = self._build(shot, pointer, on_picture(reading, shot.mapping))
        require_unchanged(held, now)
        if rest:
            self._gaps.append(await self._do(rest) - at)

    async def conclude(self, status: ExitStatus, message: str) -> None:
        """Release held keys and buttons, and wait until the screen is at rest."""
        await self.driver.ask("release")
        self._held = ()
        await self._settle(10.0)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Runs a command, caged on Linux, as the person elsewhere if they allowed it.

        Args:
            command: a bash line, or a program and its arguments.
            timeout: most seconds that it may run.
            limit: most characters of each of its outputs that are kept.
        """
        commands = self.machine.require_commands(self.name)
        return await commands.execute(command, timeout=timeout, limit=limit)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Returns the bytes of a file, where commands may run."""
        commands = self.machine.require_commands(self.name)
        return await commands.read_file(path, limit=self.file_limit if limit is None else limit)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Writes a file, where commands may run."""
        await self.machine.require_commands(self.name).write_file(path, data)


def _is_same(before: Shot, after: Shot) -> bool:
    """Whether two pictures differ by no more than a blinking caret."""
    from PIL import Image, ImageChops

    if before.rgb == after.rgb:
        return True
    if (before.width, before.height) != (after.width, after.height):
        return False
    size = (before.width, before.height)
    pictures = [Image.frombytes("RGB", size, shot.rgb) for shot in (before, after)]
    box = ImageChops.difference(*pictures).getbbox()
    if box is None:
        return True
    return box[2] - box[0] <= CARET_WIDTH and box[3] - box[1] <= CARET_HEIGHT[1]
