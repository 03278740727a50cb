"""The environment of a virtual machine, cloned from a frozen desktop for each task."""

from __future__ import annotations

import asyncio

from hisa.environments.guest_environment import GuestEnvironment
from hisa.environments.transport import Connect, GuestClient, connect
from hisa.plugins.desktop.profile_screens import screen_of
from hisa.plugins.machines.qemu.machine import Machine
from hisa.plugins.machines.qemu.runtime import end_machine, start_machine
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT

__all__ = ["VmEnvironment"]


class VmEnvironment(GuestEnvironment):
    """A machine under QEMU; its disk and memory start as the frozen ones, and are deleted with it.

    Args:
        vm: a profile, such as minimal, office or browser.
        size: the screen, in pixels; None: the profile's own size.
        image_limit: the largest screenshot that models see, in pixels.
        connect: chooses the transport for its guest.
    """

    def __init__(
        self,
        vm: str,
        size: Size | None = None,
        *,
        image_limit: Size = DEFAULT_IMAGE_LIMIT,
        connect: Connect = connect,
    ) -> None:
        super().__init__(image_limit)
        self._by = connect
        self._profile, self._size = vm, size or screen_of(vm)
        self.machine: Machine | None = None
        """The running machine; None while there is none."""

    @property
    def name(self) -> str:
        """The environment's name as printed."""
        return f"vm:{self._profile}"

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities of the transport, and "throw_away"."""
        return super().capabilities | {"throw_away"}

    async def reset(self) -> None:
        """Starts a new clone; does nothing if nothing was done in the present one."""
        alive = self.machine is not None and self.machine.alive
        if self._open is not None and not self._touched and alive:
            return
        await self.__aexit__()
        await self._start()

    async def _start(self) -> None:
        self.machine = machine = await asyncio.to_thread(start_machine, self._profile, self._size)
        address = f"http://127.0.0.1:{machine.port}"
        guest = GuestClient(f"{self.name} {address}", url=address, token=machine.token)
        await self._connect(guest, self._by)
        self._touched = False

    async def _end(self) -> None:
        machine, self.machine = self.machine, None
        if machine is not None:
            await asyncio.to_thread(end_machine, machine)
