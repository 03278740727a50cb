"""What tasks of BrowserGym ask of an environment beyond its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

__all__ = ["Staging"]


@runtime_checkable
class Staging(Protocol):
    """An environment that sets a task up and rewards it by itself."""

    @property
    def over(self) -> str:
        """The reason why the episode is over; empty where it is not."""
        ...

    async def stage(self, task: str, options: Mapping[str, Any], seed: int) -> str:
        """Open a task and return its goal.

        Raises:
            UsageError: no such task.
            EnvironmentFailed: it cannot be set up.
        """
        ...

    async def reward(self) -> tuple[float, str]:
        """The reward now, and why the episode is over; empty where it is not."""
        ...
