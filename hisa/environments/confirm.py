"""Asks a person before anything is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from hisa.actions import Action, to_source
from hisa.errors import ActionRefused
from hisa.events import Confirmed, Emit
from hisa.observation import Observation
from hisa.protocols import CommandResult, Environment

__all__ = ["Ask", "ConfirmedEnvironment"]

Ask = Callable[[str], Awaitable[bool]]
"""Asks a question; True for yes."""

_SHOWN = 2000


class ConfirmedEnvironment:
    """Another environment in which every act, command and written file is asked for first.

    Args:
        inner: where it is done.
        ask: who is asked.
        emit: takes a `Confirmed` for each question.
    """

    def __init__(self, inner: Environment, *, ask: Ask, emit: Emit) -> None:
        self._inner = inner
        self._ask = ask
        self._emit = emit

    @property
    def name(self) -> str:
        """The inner one's."""
        return self._inner.name

    @property
    def capabilities(self) -> frozenset[str]:
        """The inner one's."""
        return self._inner.capabilities

    async def __aenter__(self) -> ConfirmedEnvironment:
        """Start."""
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop."""
        await self._inner.__aexit__(*exc)

    async def reset(self) -> None:
        """Not asked for: it is how a run begins."""
        await self._inner.reset()

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Not asked for: looking changes nothing."""
        return await self._inner.observe(elements=elements, settle=settle)

    async def act(self, actions: Sequence[Action], /) -> None:
        """Ask, then act.

        Raises:
            ActionRefused: the person said no; nothing was done.
        """
        await self._allowed(to_source(actions))
        await self._inner.act(actions)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Ask, then run.

        Raises:
            ActionRefused: the person said no; nothing was run.
        """
        line = command if isinstance(command, str) else " ".join(command)
        await self._allowed(f"$ {line}")
        return await self._inner.execute(command, timeout=timeout, limit=limit)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Not asked for: reading changes nothing."""
        return await self._inner.read_file(path, limit=limit)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Ask, then write.

        Raises:
            ActionRefused: the person said no; nothing was written.
        """
        await self._allowed(f"write {len(data)} bytes to {path}")
        await self._inner.write_file(path, data)

    async def _allowed(self, what: str) -> None:
        shown = what if len(what) <= _SHOWN else f"{what[:_SHOWN]}… ({len(what)} characters)"
        allowed = await self._ask(shown)
        self._emit(Confirmed(what=shown, allowed=allowed))
        if not allowed:
            raise ActionRefused(f"a person refused this: {shown}")
