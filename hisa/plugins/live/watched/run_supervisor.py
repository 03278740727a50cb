"""The supervisor that each run has: a socket by which a person steers it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext

from hisa.agent import Agent
from hisa.protocols import Emit
from hisa.runs.log import RunLog
from hisa.wiring import RunContext

__all__ = ["RunSupervisor"]


class RunSupervisor:
    """Watches over one run; see `hisa.wiring.base.Supervisor`.

    Args:
        log: the run's.
        emit: takes the events of what a person does.
    """

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._log, self._emit = log, emit

    def context(self, run_context: RunContext, /) -> RunContext:
        """Returns the parts of the run, as they are."""
        return run_context

    def over(self, agent: Agent, /) -> AbstractAsyncContextManager[object]:
        """Watches over an agent."""
        return nullcontext(agent)
