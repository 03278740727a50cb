"""Calls a tool of a toolkit on a real machine, as a run does, and checks its documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hisa.errors import ToolFailed
from hisa.protocols import Environment, GroundedCall, Outcome, ToolCall
from hisa.testing.form import FakeEnvironment
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit


class KitCaller:
    """A toolkit on a machine; which of its functions were called is kept."""

    def __init__(self, kit: Toolkit, environment: Environment) -> None:
        self._tools = {tool.name.removeprefix(f"{kit.name}_"): tool for tool in kit.tools()}
        self._environment = environment
        self.called: set[str] = set()

    @property
    def names(self) -> set[str]:
        return set(self._tools)

    async def outcome(self, function: str, arguments: str | Mapping[str, Any]) -> Outcome:
        tool = self._tools[function]
        self.called.add(function)
        observation = await FakeEnvironment().observe()
        call = GroundedCall(ToolCall("", tool.name, arguments), arguments)
        return await tool.run(ToolContext(call, observation, self._environment))

    async def __call__(self, function: str, /, **arguments: Any) -> str:
        outcome = await self.outcome(function, arguments)
        assert outcome.ok, outcome.error
        return outcome.output

    async def expect_refusal(self, function: str, /, **arguments: Any) -> str:
        """What a call that fails says."""
        try:
            outcome = await self.outcome(function, arguments)
        except ToolFailed as error:
            return str(error)
        assert not outcome.ok, outcome.output
        return outcome.error
