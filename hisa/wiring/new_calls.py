"""Stands around a run's grounder: what was tried on this very screen is not done again."""

from __future__ import annotations

from hisa.protocols import GroundedCall, Grounder, Prefetching, ToolCall
from hisa.screen.observation import Observation
from hisa.state.manager import HierarchicalState
from hisa.tools.registry import ToolRegistry

__all__ = ["NewCallGrounder"]


class NewCallGrounder:
    """Asks the state, which knows what was tried, before places are looked for and once found.

    Everything that a planner decides passes here, with its look, before anything is asked or done.
    """

    def __init__(self, inner: Grounder, state: HierarchicalState, tools: ToolRegistry) -> None:
        self.inner, self._state, self._tools = inner, state, tools

    def begin(self, observation: Observation, /) -> None:
        """See `hisa.protocols.Prefetching`: handed on."""
        if isinstance(self.inner, Prefetching):
            self.inner.begin(observation)

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; see `hisa.protocols.Grounder`.

        Raises:
            ActionRefused, InvalidReply: it was tried; see `HierarchicalState.require_new`.
        """
        others = self._tools.others(call.tool, observation)
        self._state.require_new(GroundedCall(call, call.input, call.actions), others)
        found = await self.inner.resolve(call, observation)
        self._state.require_new(found, others)
        return found
