"""The part of an environment that one around another passes on."""

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
    """Another one, as far as it changes nothing; see `hisa.protocols.Environment`."""

    def __init__(self, inner: Environment) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The inner one's."""
        return self._inner.name

    @property
    def capabilities(self) -> frozenset[str]:
        """The inner one's."""
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
        """Pass the end on."""
        if isinstance(self._inner, Concluding):
            await self._inner.conclude(status, message)

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Look."""
        return await self._inner.observe(elements=elements, settle=settle)

    async def look_everywhere(self) -> Observation:
        """Look for what is there."""
        assert isinstance(self._inner, ReadsHiddenElements), "announced by its capabilities"
        return await self._inner.look_everywhere()

    async def hit_test(self, points: Sequence[Point], /) -> HitTest:
        """The things at points."""
        assert isinstance(self._inner, HitTester), "announced by its capabilities"
        return await self._inner.hit_test(points)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """A file of the machine."""
        return await self._inner.read_file(path, limit=limit)
