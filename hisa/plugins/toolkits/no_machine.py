"""The machine of a tool that needs none: it cannot be seen, and refuses all that is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from hisa.actions import Action
from hisa.errors import ToolFailed
from hisa.protocols import CommandResult
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot

__all__ = ["NoMachine"]


class NoMachine:
    """See `hisa.protocols.Environment`."""

    name = "no machine"
    capabilities: frozenset[str] = frozenset()

    async def reset(self) -> None:
        """Leave it as it is: there is nothing."""

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Returns a look at nothing, one pixel large."""
        size = Size(1, 1)
        return Observation(Screenshot.from_rgb(size, bytes(3)), size, windows_known=False)

    async def act(self, actions: Sequence[Action], /) -> None:
        """Refuse."""
        _refuse()

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Refuse."""
        _refuse()

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Refuse."""
        _refuse()

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Refuse."""
        _refuse()

    async def __aenter__(self) -> NoMachine:
        """Start nothing."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop nothing."""


def _refuse() -> NoReturn:
    raise ToolFailed("this tool was called without a machine")
