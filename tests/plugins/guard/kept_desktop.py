"""A private desktop that a run does not reset."""

from __future__ import annotations

from hisa.plugins.desktop.private_desktop import DesktopEnvironment

__all__ = ["PersistentDesktop"]


class PersistentDesktop(DesktopEnvironment):
    """A desktop that a run begins on as it stands: what a test opened is there."""

    async def reset(self) -> None:
        """Leave it as it is."""
