"""The seam of supervision: whoever watches over a run from outside the agent."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hisa.agent import Agent
    from hisa.wiring import RunContext

__all__ = ["Supervisor"]


class Supervisor(Protocol):
    """Watches over one run, so that a person can pause it, answer it, or take its machine over.

    A package announces a factory in the entry-point group ``hisa.supervisors``; it is called with
    the run's log and the function that takes its events, once for each run.
    """

    def context(self, run_context: RunContext, /) -> RunContext:
        """Returns the parts of the run, with a person to ask where it has none."""
        ...

    def over(self, agent: Agent, /) -> AbstractAsyncContextManager[object]:
        """Watches over an agent from before its first step until after its score.

        It may put others around the agent's parts; nothing that fails in it may fail the run.
        """
        ...
