"""An environment around another, which passes everything on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from hisa.protocols import (
    Concluding,
    Environment,
    ExitStatus,
    HitTest,
    HitTester,
    ReadsHiddenElements,
)
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation

__all__ = ["WrappedEnvironment"]


class WrappedEnvironment:
    """Passes what its subclasses do not change to an inner environment.

    See `hisa.protocols.Environment`.
    """

    def __init__(self, inner: Environment) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """That of the inner environment."""
        return self._inner.name

    @property
    def capabilities(self) -> frozenset[str]:
        """That of the inner environment."""
        return self._inner.capabilities

    async def __aenter__(self) -> Self:
        """Start."""
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop."""
        await self._inner.__aexit__(*exc)

    async def reset(self) -> None:
        """Bring the machine to its initial state."""
        await self._inner.reset()

    async def conclude(self, status: ExitStatus, message: str) -> None:
        """Pass the end of the run on."""
        if isinstance(self._inner, Concluding):
            await self._inner.conclude(status, message)

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Look."""
        return await self._inner.observe(elements=elements, settle=settle)

    async def look_everywhere(self) -> Observation:
        """Look, also for hidden elements."""
        assert isinstance(self._inner, ReadsHiddenElements), "announced by its capabilities"
        return await self._inner.look_everywhere()

    async def hit_test(self, points: Sequence[Point], /) -> HitTest:
        """Ask which elements lie at points."""
        assert isinstance(self._inner, HitTester), "announced by its capabilities"
        return await self._inner.hit_test(points)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Read a file of the machine."""
        return await self._inner.read_file(path, limit=limit)
