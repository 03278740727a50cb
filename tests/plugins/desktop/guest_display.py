"""HiSA's guest on a display that a test starts, as an environment: its keys, commands and files."""

from __future__ import annotations

from pathlib import Path

from hisa.environments.guest_environment import GuestEnvironment
from hisa.plugins.desktop.display_guest import DisplayGuest

__all__ = ["GuestDisplay"]


class GuestDisplay(GuestEnvironment):
    """A display with the guest that `--env screen` starts for commands and trees."""

    def __init__(self, display: str) -> None:
        super().__init__()
        self.guest = DisplayGuest(display)

    @property
    def folder(self) -> Path:
        """The folder in which commands may write."""
        assert self.guest.folder
        return self.guest.folder

    async def _start(self) -> None:
        self._open = await self.guest.start()

    async def _end(self) -> None:
        await self.guest.stop()
