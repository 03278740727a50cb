"""The part of an environment that one around another passes on."""

from __future__ import annotations

from typing import Self

from hisa.protocols import Concluding, Environment, ExitStatus

__all__ = ["WrappedEnvironment"]


class WrappedEnvironment:
    """Starts, resets, concludes and ends another one; see `hisa.protocols.Environment`."""

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
