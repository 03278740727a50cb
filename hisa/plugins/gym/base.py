"""The protocol of environments that can run tasks of BrowserGym."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

__all__ = ["Staging"]


@runtime_checkable
class Staging(Protocol):
    """An environment that sets a task up and rewards it by itself."""

    @property
    def over(self) -> str:
        """The reason why the episode is over; empty while it goes on."""
        ...

    async def stage(self, task: str, options: Mapping[str, Any], seed: int) -> str:
        """Opens a task and returns its goal.

        Args:
            task: its name without ``browsergym/``: "miniwob.click-test".
            options: parameters of the task, such as ``start_url`` of "openended".
            seed: for the task's random choices.

        Raises:
            UsageError: no such task.
            EnvironmentFailed: the task cannot be set up.
        """
        ...

    async def reward(self) -> tuple[float, str]:
        """Returns the present reward, and why the episode is over; empty while it goes on."""
        ...
