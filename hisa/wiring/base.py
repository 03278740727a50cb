"""The seams of a run as a whole: who watches over it from outside, or acts before its planner."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from hisa.protocols import GroundedCall, Planner
from hisa.screen.observation import Observation

if TYPE_CHECKING:
    from hisa.agent import Agent
    from hisa.wiring import RunContext

__all__ = ["Lead", "Supervisor"]


class Lead(Planner, Protocol):
    """A planner that acts before a run's own.

    Its calls hold pixels of the picture, or are those that the run's own answered, as they are.
    """

    async def allow(self, call: GroundedCall, look: Observation, /) -> None:
        """Judge a call of the run's own planner, whose places were found on a look.

        Raises:
            ActionRefused: it must not be done.
        """
        ...


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
