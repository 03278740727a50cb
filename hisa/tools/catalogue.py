"""The part of a toolbox that one around another passes on: what there is, and how it is called."""

from __future__ import annotations

from hisa.protocols import Task, Toolbox, ToolCall
from hisa.screen.observation import Observation

__all__ = ["Catalogue"]


class Catalogue:
    """Another toolbox's tools; only `execute` is left, see `hisa.protocols.Toolbox`."""

    def __init__(self, inner: Toolbox) -> None:
        self._inner = inner

    def describe(self) -> str:
        """The tools that are always there."""
        return self._inner.describe()

    def names(self) -> tuple[str, ...]:
        """Their names, sorted."""
        return self._inner.names()

    def offer(self, task: Task, observation: Observation, /) -> str:
        """The further tools for this step."""
        return self._inner.offer(task, observation)

    def check(self, call: ToolCall, /) -> None:
        """Refuse a call whose name or input is wrong, without acting."""
        self._inner.check(call)
