"""The default environment: a private desktop on this machine, thrown away at the end."""

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
        size: the screen, in pixels; None: the profile's own size.
        image_limit: the largest screenshot that models see, in pixels.
        idle: seconds without a request after which the desktop ends itself.
        connect: chooses the transport for its guest.
        limits: how much memory, disk and processes it may take; None: the defaults.
        shares: folders of this machine that are shared with it.
        profile: the profile whose built system it shows; empty: this machine's own system.
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
        """Returns the desktop of an interrupted run; entering it continues where that run was.

        Args:
            handle: what `belongs_to` returned in the process that started it.
            profile: the profile whose built system it shows; empty: this machine's own system.
            image_limit: the largest screenshot that models see, in pixels.

        Raises:
            EnvironmentFailed: the desktop is gone.
        """
        runtime = DesktopRuntime.attach(handle)
        environment = cls(runtime.size, image_limit=image_limit, profile=profile)
        environment._runtime = runtime
        environment._touched = True
        return environment

    @property
    def name(self) -> str:
        """The environment's name as printed."""
        return f"desktop:{self._profile}" if self._profile else "desktop"

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities of the transport, and "throw_away"."""
        return super().capabilities | {"throw_away"}

    @property
    def handle(self) -> dict[str, Any]:
        """The handle with which `attach` finds the desktop again, as plain JSON data."""
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
        """Return the root of the profile's built system, from the environment kind ``vm``."""
        point = plugins.find("environments", "vm")
        system = load_kind(point).system if point is not None else None
        if system is None:
            raise UsageError(f"{self.name}: profiles are not installed", fix="--env desktop")
        return system(self._profile)

    def belongs_to(self, run: str) -> Mapping[str, Any]:
        """Records that this process uses it for a run, now and after each fresh start."""
        self._run = run
        write_owner(self._open_runtime().handle, run)
        return self.handle

    def _read_end_reason(self) -> tuple[str, float | None]:
        return ("", None) if self._runtime is None else self._runtime.ended

    async def detach(self) -> str:
        """Disconnects and leaves the desktop running; `attach` finds it until it ends itself.

        Returns:
            Its memory, how long it stays, and the command that ends it.
        """
        handle = self._open_runtime().handle
        await self._close()
        self._runtime = None
        memory = (await asyncio.to_thread(usage, handle)).memory
        end = time.strftime("%H:%M", time.localtime(time.time() + handle.idle))
        until = f" until {end} if nobody uses it" if handle.idle else ""
        held = f"{handle.id} stays up with {memory / 1e6:.0f} MB of memory{until}"
        return f"{held}; to end it now: hisa desktop stop {handle.id}"

    async def reset(self) -> None:
        """Starts a new desktop; does nothing if nothing was done in the present one."""
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
