"""The default: a private desktop on this machine, thrown away at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hisa.config import LimitSettings
from hisa.environments.guest_environment import GuestEnvironment
from hisa.environments.kinds import load_kind
from hisa.environments.share import Share
from hisa.environments.transport import Connect, GuestClient, connect
from hisa.errors import UsageError
from hisa.machine import plugins
from hisa.plugins.desktop.profile_screens import screen_of
from hisa.plugins.desktop.runtime import DesktopRuntime
from hisa.plugins.desktop.runtime.state import usage, write_owner
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT

__all__ = ["DesktopEnvironment"]


class DesktopEnvironment(GuestEnvironment):
    """A desktop in namespaces of its own; nothing done inside reaches the host.

    Args:
        size: the screen, in pixels; None: as the profile has it.
        image_limit: the largest picture that models see.
        idle: the desktop ends itself after so many seconds without a request.
        connect: finds out how to talk to its guest.
        limits: how much it may take.
        shares: folders of this machine that it has.
        profile: it shows the built system of that profile; empty: this machine's own.
    """

    def __init__(
        self,
        size: Size | None = None,
        *,
        image_limit: Size = DEFAULT_IMAGE_LIMIT,
        idle: float = 900.0,
        connect: Connect = connect,
        limits: LimitSettings | None = None,
        shares: Sequence[Share] = (),
        profile: str = "",
    ) -> None:
        super().__init__(image_limit)
        self._profile = profile
        self._shares = tuple(shares)
        self._limits = limits
        self._run = ""
        self._size = size or screen_of(profile)
        self._idle = idle
        self._by = connect
        self._runtime: DesktopRuntime | None = None

    @classmethod
    def attach(
        cls,
        handle: Mapping[str, Any],
        profile: str = "",
        *,
        image_limit: Size = DEFAULT_IMAGE_LIMIT,
    ) -> DesktopEnvironment:
        """The desktop of a run that was cut off; entering it goes on where that run was.

        Raises:
            EnvironmentFailed: it is gone.
        """
        runtime = DesktopRuntime.attach(handle)
        environment = cls(runtime.size, image_limit=image_limit, profile=profile)
        environment._runtime = runtime
        environment._touched = True
        return environment

    @property
    def name(self) -> str:
        """As printed."""
        return f"desktop:{self._profile}" if self._profile else "desktop"

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities of the transport, and "throw_away"."""
        return super().capabilities | {"throw_away"}

    @property
    def handle(self) -> dict[str, Any]:
        """The handle by which `attach` finds it again, as plain JSON data."""
        return self._open_runtime().handle.to_json()

    def _open_runtime(self) -> DesktopRuntime:
        if self._runtime is None:
            self._runtime = DesktopRuntime(
                self._size,
                idle=self._idle,
                limits=self._limits,
                shares=self._shares,
                system=self._system() if self._profile else None,
            )
        return self._runtime

    def _system(self) -> Path:
        """The root of the profile's built system, which the kind ``vm`` has, or UsageError."""
        point = plugins.find("environments", "vm")
        system = load_kind(point).system if point is not None else None
        if system is None:
            raise UsageError(f"{self.name}: profiles are not installed", fix="--env desktop")
        return system(self._profile)

    def belongs_to(self, run: str) -> Mapping[str, Any]:
        """Write down that this process uses it for that run, now and after each fresh start."""
        self._run = run
        write_owner(self._open_runtime().handle, run)
        return self.handle

    def _read_end_reason(self) -> tuple[str, float | None]:
        return ("", None) if self._runtime is None else self._runtime.ended

    async def detach(self) -> str:
        """Let go of it and leave it up; `attach` finds it again until it ends itself."""
        handle = self._open_runtime().handle
        await self._close()
        self._runtime = None
        memory = (await asyncio.to_thread(usage, handle)).memory
        end = time.strftime("%H:%M", time.localtime(time.time() + handle.idle))
        until = f" until {end} if nobody uses it" if handle.idle else ""
        held = f"{handle.id} stays up with {memory / 1e6:.0f} MB of memory{until}"
        return f"{held}; end it now: hisa desktop stop {handle.id}"

    async def reset(self) -> None:
        """A fresh start; costs nothing where nothing was done since the last one."""
        if self._open is not None and not self._touched:
            return
        await self.__aexit__()
        self._runtime = None
        await self._start()

    async def _start(self) -> None:
        runtime = self._open_runtime()
        if not runtime.alive:
            await asyncio.to_thread(runtime.start)
            self._touched = False
            write_owner(runtime.handle, self._run)
        handle = runtime.handle
        guest = GuestClient(f"desktop {handle.id}", socket=handle.socket, token=handle.token)
        await self._connect(guest, self._by)

    async def _end(self) -> None:
        if self._runtime is not None:
            await asyncio.to_thread(self._runtime.stop)
