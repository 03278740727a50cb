"""Looks and acts through the driver of a screen, as other transports do through a guest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from PIL import Image, ImageChops

from hisa.actions import Action
from hisa.environments.transport import RawObservation, Transport
from hisa.environments.transport.base import acting_seconds
from hisa.errors import EnvironmentFailed
from hisa.plugins.screen.base import Reading
from hisa.plugins.screen.capture import BLANK_FIX, Shot, is_blank
from hisa.plugins.screen.helper_process import HelperProcess
from hisa.plugins.screen.own_machine import Machine, OwnCommands
from hisa.plugins.screen.trees import on_picture
from hisa.protocols import CommandResult, ScreenPrecondition
from hisa.screen.caret import CARET_HEIGHT, CARET_WIDTH
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Screenshot

__all__ = ["ScreenTransport"]

_POLL_SECONDS = 0.1
_QUIET_SECONDS = 0.3
"""A screen has settled if it shows the same for this long."""
_BLANK_SECONDS = 3.0
"""A screen that stays black longer is locked, or may not be seen; a change of mode is shorter."""
_MOST_SETTLE = 120.0
_TREE_TRIES = 2
"""Readings of a tree while the picture changes; after the last one it counts as incomplete."""


class ScreenTransport:
    """One monitor of this machine; see `hisa.environments.transport.Transport`.

    Args:
        driver: takes the pictures and acts.
        machine: the commands, files and trees that were opened.
        note: called with what a reader of the run should know.
    """

    def __init__(
        self, driver: HelperProcess, machine: Machine, note: Callable[[str], None]
    ) -> None:
        self._driver, self._machine, self._note = driver, machine, note
        self._fallback = ""
        self._looked_at = 0.0
        self.gaps: list[float] = []
        """Seconds between the last picture before each compared act, and the act."""

    @property
    def capabilities(self) -> frozenset[str]:
        """Elements if a tree is read, commands where they may run."""
        reader = self._machine.reader
        able = {"elements"} if reader is not None and reader.reads_elements else set()
        return frozenset(able | ({"execute"} if self._machine.commands is not None else set()))

    async def look(self, *, elements: bool, settle: float, longer: float = 1.0) -> RawObservation:
        """Takes a picture of the screen at rest, with the windows, and the elements on request.

        Args:
            elements: whether to read the tree too.
            settle: longest wait for the screen to stop changing, in seconds.
            longer: not obeyed; readers end by themselves.
        """
        shot, pointer = await self._settle(min(settle, _MOST_SETTLE))
        reading, complete = Reading(windows_known=False), True
        if (reader := self._machine.reader) is not None:
            for _ in range(_TREE_TRIES):
                reading = await reader.read(elements=elements)
                before, (shot, pointer) = shot, await self.take()
                if complete := not elements or _is_same(before, shot):
                    break
        reading = on_picture(reading, shot.mapping)
        size = Size(shot.width, shot.height)
        return RawObservation(
            picture=Screenshot.from_rgb(size, shot.rgb),
            screen=size,
            windows=reading.windows,
            elements=reading.elements,
            cursor=Point(*pointer, "screen"),
            complete=reading.complete and complete,
            windows_known=reading.windows_known,
        )

    async def _settle(self, seconds: float) -> tuple[Shot, tuple[float, float]]:
        """Take pictures until they show the same for a moment, or the time is over."""
        look = await self.take()
        end, same_since = time.monotonic() + seconds, time.monotonic()
        while (now := time.monotonic()) < end and now - same_since < _QUIET_SECONDS:
            await asyncio.sleep(_POLL_SECONDS)
            before, look = look, await self.take()
            if not _is_same(before[0], look[0]):
                same_since = time.monotonic()
        return look

    async def take(self) -> tuple[Shot, tuple[float, float]]:
        """Take a picture that is not all black; returns it, and the pointer's place on it.

        Raises:
            EnvironmentFailed: it stays black.
        """
        end = time.monotonic() + _BLANK_SECONDS
        while True:
            shot, pointer, self._looked_at, fallback = await self._driver.ask("look")
            if fallback and fallback != self._fallback:
                self._fallback = fallback
                self._note(f"PyAutoGUI takes the pictures, because mss cannot: {fallback}")
            if not is_blank(shot.rgb):
                return shot, pointer
            if time.monotonic() > end:
                raise EnvironmentFailed(
                    "the screenshot is all black: the screen is locked or off, or this program "
                    "may not see it",
                    fix=BLANK_FIX,
                )
            await asyncio.sleep(_POLL_SECONDS)

    async def act(
        self, actions: Sequence[Action], /, *, held: ScreenPrecondition | None = None
    ) -> None:
        """Does the actions; with ``held``, the screen was compared by the look just before."""
        seconds = 60.0 + acting_seconds(actions)
        began: float = await self._driver.ask("act", tuple(actions), seconds=seconds)
        if held is not None:
            self.gaps.append(began - self._looked_at)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float, limit: int
    ) -> CommandResult:
        """Runs a command, caged on Linux, as the person elsewhere if they allowed it.

        Args:
            command: a bash line, or a program and its arguments.
            timeout: most seconds that it may run.
            limit: most characters of each of its outputs that are kept.
        """
        return await self._commands.execute(command, timeout=timeout, limit=limit)

    async def read_file(self, path: str, /, *, limit: int) -> bytes:
        """Returns the bytes of a file, where commands may run."""
        return await self._commands.read_file(path, limit=limit)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Writes a file, where commands may run."""
        await self._commands.write_file(path, data)

    @property
    def _commands(self) -> Transport | OwnCommands:
        return self._machine.require_commands()


def _is_same(before: Shot, after: Shot) -> bool:
    """Whether two pictures differ by no more than a blinking caret."""
    size = (before.width, before.height)
    if before.rgb == after.rgb or size != (after.width, after.height):
        return before.rgb == after.rgb
    pictures = [Image.frombytes("RGB", size, shot.rgb) for shot in (before, after)]
    left, top, right, bottom = ImageChops.difference(*pictures).getbbox() or (0, 0, 0, 0)
    return right - left <= CARET_WIDTH and bottom - top <= CARET_HEIGHT[1]
