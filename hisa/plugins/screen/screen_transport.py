"""Looks and acts through the driver of a screen, as other transports do through a guest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec

import click

from hisa.actions import Action, to_source
from hisa.environments.transport import RawObservation, Transport
from hisa.environments.transport.base import acting_seconds
from hisa.errors import EnvironmentFailed
from hisa.plugins.screen.base import Look, Reading
from hisa.plugins.screen.helper_process import HelperProcess
from hisa.plugins.screen.own_commands import OwnCommands
from hisa.plugins.screen.trees import on_picture
from hisa.protocols import CommandResult, ScreenPrecondition
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Screenshot
from hisa.text.safe_text import safe_line

__all__ = ["ALLOW", "ScreenTransport", "announce"]

ALLOW = "--allow-commands, which runs them as you"
_TREE_PACKAGES = ("uiautomation", "ApplicationServices")
_MOST_SETTLE = 120.0
_TREE_TRIES = 2
"""Readings of a tree while the picture changes; after the last one it counts as incomplete."""


def announce(text: str) -> None:
    """Say at the terminal, and in its title, what is about to happen."""
    if sys.stderr.isatty():
        line = safe_line(text, 200)
        click.echo(f"\x1b]0;HiSA: {line}\x07\r\x1b[K  next     {line}", err=True)


class ScreenTransport:
    """One monitor of this machine; see `hisa.environments.transport.Transport`.

    Args:
        driver: takes the pictures and acts; on Windows and macOS it reads trees too.
        say: called with what is about to happen.
    """

    def __init__(self, driver: HelperProcess, say: Callable[[str], None] = announce) -> None:
        self._driver, self._say = driver, say
        self.guest: Transport | None = None
        """Reads windows and elements of an X display."""
        self.commands: Transport | OwnCommands | None = None
        self.gaps: list[float] = []
        """Seconds between the last picture before each compared act, and the act."""

    @property
    def capabilities(self) -> frozenset[str]:
        """The driver compares; elements where a tree is read, commands where they may run."""
        reads = any(map(find_spec, _TREE_PACKAGES))
        if self.guest is not None:
            reads = "elements" in self.guest.capabilities
        able = {"elements": reads, "execute": self.commands is not None, "unchanged": True}
        return frozenset(name for name, is_able in able.items() if is_able)

    async def look(self, *, elements: bool, settle: float, longer: float = 1.0) -> RawObservation:
        """Takes a picture of the screen at rest, with the windows, and the elements on request.

        Args:
            elements: whether to read the tree too.
            settle: longest wait for the screen to stop changing, in seconds.
            longer: not obeyed; readers end by themselves.
        """
        settle = min(settle, _MOST_SETTLE)
        look: Look = await self._driver.ask("look", settle, seconds=settle)
        complete = True
        for _ in range(_TREE_TRIES):
            reading = await self._read(elements and "elements" in self.capabilities)
            look = await self._driver.ask("look", 0.0, look.name)
            if complete := reading.elements is None or look.is_same:
                break
        reading = on_picture(reading, look.shot.mapping)
        size = Size(look.shot.width, look.shot.height)
        return RawObservation(
            picture=Screenshot.from_rgb(size, look.shot.rgb),
            screen=size,
            windows=reading.windows,
            elements=reading.elements,
            cursor=Point(*look.pointer, "screen"),
            complete=reading.complete and complete,
            windows_known=reading.windows_known,
            name=look.name,
        )

    async def _read(self, elements: bool) -> Reading:
        if self.guest is None:
            reading: Reading = await self._driver.ask("read", elements)
            return reading
        look = await self.guest.look(elements=elements, settle=0.0)
        return Reading(look.windows, look.elements, look.complete, look.windows_known)

    async def act(
        self, actions: Sequence[Action], /, *, held: ScreenPrecondition | None = None
    ) -> None:
        """Does the actions in the window that was in front before; ``held`` is compared."""
        self._say(to_source(actions))
        compared = held and (held.look.name, held.boxes, held.follows)
        seconds = acting_seconds(actions)
        gap: float = await self._driver.ask("act", tuple(actions), compared, seconds=seconds)
        if held is not None:
            self.gaps.append(gap)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float, limit: int
    ) -> CommandResult:
        """Runs a command, caged on Linux, as the person elsewhere if they allowed it.

        Args:
            command: a bash line, or a program and its arguments.
            timeout: most seconds that it may run.
            limit: most characters of each of its outputs that are kept.
        """
        return await self._require_commands().execute(command, timeout=timeout, limit=limit)

    async def read_file(self, path: str, /, *, limit: int) -> bytes:
        """Returns the bytes of a file, where commands may run."""
        return await self._require_commands().read_file(path, limit=limit)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Writes a file, where commands may run."""
        await self._require_commands().write_file(path, data)

    def _require_commands(self) -> Transport | OwnCommands:
        if self.commands is None:
            raise EnvironmentFailed("screen: runs no commands and has no files", fix=ALLOW)
        return self.commands
