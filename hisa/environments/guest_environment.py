"""The base class of all environments with a guest: everything but starting and stopping."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Self

from hisa.actions import Action
from hisa.actions.held_keys import held_after, releases
from hisa.actions.unchanged_look import REACTION_SECONDS, arrival, require_unchanged
from hisa.config import EnvironmentSettings
from hisa.environments.transport import Connect, GuestClient, Transport, connect
from hisa.environments.transport.base import RawObservation
from hisa.environments.transport.typed_client import HisaTransport
from hisa.errors import ActionRefused, EnvironmentFailed, LimitPassed, ScreenChanged
from hisa.machine.patience import patience
from hisa.protocols import (
    FILE_LIMIT,
    CommandResult,
    ExitStatus,
    HitTest,
    HitTester,
    ScreenPrecondition,
)
from hisa.screen.geometry import Point, Size, fit_within
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT, Observation
from hisa.screen.pointer_cover import fitted_cover
from hisa.screen.sight import can_see, see_elements

__all__ = ["GuestEnvironment"]

_LONGER = 3.0
"""Factor on the time limit when elements are read again after an incomplete reading: the machine
was busier than measured."""
_REST = 1.0
"""Seconds after the last request in which a program may start the requested work without having
shown any sign of it; chosen by hand: an editor wrote its file 0.3 s after the click."""
_REST_SETTLE = 10.0
"""Longest wait, in seconds, for a screen to come to rest at the end; chosen by hand."""
_RELEASE_SECONDS = 5.0
"""Time limit for releasing held keys and buttons at the end; chosen by hand: a machine that
responds takes some milliseconds."""
_OF_TREE = frozenset({"elements", "hidden", "lies_at"})
"""Abilities that rest on the accessibility tree."""
_LIMITS = "--set environment.limits.NAME=…; hisa settings lists them"


class GuestEnvironment(ABC):
    """An environment behind a guest; subclasses start it, end it and reset it.

    Args:
        image_limit: the largest picture that models see.
    """

    file_limit = FILE_LIMIT
    """Bytes of the largest file that `read_file` takes if the caller names no limit."""

    def __init__(self, image_limit: Size = DEFAULT_IMAGE_LIMIT) -> None:
        self._image_limit = image_limit
        self._guest: GuestClient | None = None
        self._open: Transport | None = None
        self._touched = False
        self._last_request_at = 0.0
        self._held: tuple[str, ...] = ()
        self._reads_tree = True

    def with_settings(self, settings: EnvironmentSettings) -> Self:
        """Takes `file_limit`, and whether elements are read, from the settings; returns itself."""
        self.file_limit = settings.limits.file_mb << 20
        self._reads_tree = settings.elements
        return self

    @property
    def name(self) -> str:
        """The environment's name as printed."""
        return "guest"

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities of the transport, and elements if they can be seen on its pictures."""
        abilities = self._transport.capabilities
        if not self._reads_tree:
            abilities -= _OF_TREE
        return abilities if "elements" in abilities or not can_see() else abilities | {"elements"}

    async def __aenter__(self) -> Self:
        """Start and connect; a start that fails leaves nothing behind."""
        try:
            await self._start()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Release held keys and buttons, disconnect, and end what was started."""
        await self._release()
        await self._close()
        await self._end()

    @abstractmethod
    async def _start(self) -> None:
        """Bring the machine up, and `_connect`."""

    @abstractmethod
    async def _end(self) -> None:
        """End the machine, or as much of it as was started."""

    async def _connect(self, guest: GuestClient, by: Connect = connect) -> None:
        self._guest = guest
        self._open = await by(guest)

    @property
    def _transport(self) -> Transport:
        if self._open is None:
            raise EnvironmentFailed(
                f"{self.name}: not started", fix="use it as `async with environment:`"
            )
        return self._open

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Takes an observation; the screenshot is scaled down to the image limit.

        An incomplete element tree is read a second time, with a longer time limit. If the machine
        has none, elements are seen on the picture, where that is installed.
        """
        read = elements and self._reads_tree
        with self._mark_on_failure():
            look = await self._transport.look(elements=read, settle=settle)
            if read and not look.complete:
                look = await self._transport.look(elements=True, settle=settle, longer=_LONGER)
        observation = await self._fit_picture(look)
        if elements and observation.elements is None and can_see():
            return await asyncio.to_thread(see_elements, observation)
        return observation

    async def look_everywhere(self) -> Observation:
        """See `hisa.protocols.ReadsHiddenElements`."""
        transport = self._transport
        assert isinstance(transport, HisaTransport), "announced by its capabilities"
        with self._mark_on_failure():
            look = await transport.look(elements=True, settle=0.0, longer=_LONGER, hidden=True)
        return await self._fit_picture(look)

    async def _fit_picture(self, look: RawObservation) -> Observation:
        """Returns the observation with its screenshot scaled down to the image limit."""
        screenshot, under = look.picture, look.under_pointer
        if fit_within(screenshot.size, self._image_limit) != screenshot.size:
            screenshot = await asyncio.to_thread(screenshot.fit_to, self._image_limit)
            under = under and fitted_cover(look.picture, under, screenshot.size)
        return Observation(
            screenshot=screenshot,
            screen=look.screen,
            windows=look.windows,
            elements=look.elements,
            cursor=look.cursor,
            under_pointer=under,
            complete=look.complete,
            undrawn=look.undrawn,
            selection=look.selection,
            windows_known=look.windows_known,
            name=look.name,
            held=self._held,
        )

    @contextmanager
    def _mark_on_failure(self) -> Iterator[None]:
        """On a failure, mark the machine as touched, and say why if it was ended from outside."""
        try:
            yield
        except EnvironmentFailed as error:
            self._touched = True
            why, since = self._read_end_reason()
            if not why:
                raise
            raise LimitPassed(f"{self.name} was ended: {why}", since, fix=_LIMITS) from error

    @contextmanager
    def _note_request(self) -> Iterator[None]:
        """Note the end of a request: programs may go on working on it for a while afterwards."""
        try:
            yield
        finally:
            self._last_request_at = time.monotonic()

    def _read_end_reason(self) -> tuple[str, float | None]:
        """Returns which limit the machine was ended for, and since when; empty if it was not ended.

        The second value is the start of most of that consumption; see `hisa.errors.LimitPassed`.
        """
        return "", None

    async def act(self, actions: Sequence[Action], /) -> None:
        """Does the actions, in order, at most once."""
        self._touched, self._held = True, held_after(actions, self._held)
        if actions:
            with self._note_request(), self._mark_on_failure():
                await self._transport.act(actions)

    async def hit_test(self, points: Sequence[Point], /) -> HitTest:
        """Returns the elements at points of the screen now; see `hisa.protocols.HitTester`."""
        transport = self._transport
        assert isinstance(transport, HitTester), "announced by its capabilities"
        with self._mark_on_failure():
            return await transport.hit_test(points)

    async def act_where_unchanged(
        self, actions: Sequence[Action], held: ScreenPrecondition, /
    ) -> None:
        """Does the actions if the screen is unchanged; the guest looks at the moment of the act.

        If only a highlight under the pointer may have changed, or if the guest cannot compare, this
        side compares screenshots.
        """
        self._touched, self._held = True, held_after(actions, self._held)
        with self._note_request(), self._mark_on_failure():
            compares = "unchanged" in self._transport.capabilities
            if compares:
                try:
                    await self._transport.act(actions, held=held)
                    return
                except ScreenChanged:
                    if not held.own:
                        raise
            arriving, rest = arrival(actions)
            if arriving and not compares:
                await self._transport.act(arriving)
                await asyncio.sleep(REACTION_SECONDS)
            now = await self.observe()
            require_unchanged(held, now)
            await self._transport.act(rest, held=ScreenPrecondition(now, held.boxes, follows=True))

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Runs a command as the desktop's user.

        Args:
            command: a bash line, or a program and its arguments.
            timeout: most seconds that it may run.
            limit: most characters of each of its outputs that are kept.
        """
        self._touched = True
        with self._note_request(), self._mark_on_failure():
            return await self._transport.execute(command, timeout=timeout, limit=limit)

    async def conclude(self, status: ExitStatus, message: str) -> None:
        """Release held keys and buttons, and wait until programs have done what they were asked."""
        await self._release()
        if not self._last_request_at:
            return
        await asyncio.sleep(self._last_request_at + patience(_REST) - time.monotonic())
        await self.observe(settle=_REST_SETTLE)

    async def _release(self) -> None:
        """Release the keys and buttons that were pressed and not released, if that can be done."""
        if self._held and self._open is not None:
            with suppress(EnvironmentFailed, ActionRefused, TimeoutError):
                async with asyncio.timeout(patience(_RELEASE_SECONDS)):
                    await self._open.act(releases(self._held))
        self._held = ()

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Returns the bytes of a file of the machine."""
        with self._mark_on_failure():
            return await self._transport.read_file(
                path, limit=self.file_limit if limit is None else limit
            )

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Writes a file on the machine."""
        self._touched = True
        with self._mark_on_failure():
            await self._transport.write_file(path, data)

    async def _close(self) -> None:
        guest, self._guest, self._open = self._guest, None, None
        if guest is not None:
            await guest.close()
