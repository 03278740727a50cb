"""The machine of a tool that needs none: it shows nothing, and refuses every call."""

from __future__ import annotations

from typing import NoReturn

from hisa.errors import ToolFailed
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot

__all__ = ["NoMachine"]


class NoMachine:
    """See `hisa.protocols.Environment`."""

    name = "no machine"
    capabilities: frozenset[str] = frozenset()

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Returns an observation of nothing, one pixel large."""
        size = Size(1, 1)
        return Observation(Screenshot.from_rgb(size, bytes(3)), size, windows_known=False)

    async def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise ToolFailed("this tool was called without a machine")

    reset = act = execute = read_file = write_file = _refuse

    async def __aenter__(self) -> NoMachine:
        """Start nothing."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop nothing."""
