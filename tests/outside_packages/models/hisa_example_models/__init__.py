"""A model of an outside package."""

from __future__ import annotations

import json

from hisa.config import ModelSettings
from hisa.protocols import ModelReply, ModelRequest


class Modest:
    """``--model modest``: says of every task that it cannot be done here."""

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Give up, where a plan is asked for."""
        if request.role != "planner":
            return ModelReply("Failed. Nothing was tried.", model=self.name)
        plan = {"thought": "I had better not.", "tool": "infeasible", "input": "beyond me"}
        return ModelReply(json.dumps(plan), model=self.name)

    async def aclose(self) -> None:
        """Called at the end of a run; here there is nothing to close."""
