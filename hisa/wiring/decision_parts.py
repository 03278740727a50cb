"""What stands around the planner: samples and their judge, sequences."""

from __future__ import annotations

from collections.abc import Mapping

from hisa.config import Settings
from hisa.models.profiles import Profile
from hisa.protocols import (
    Emit,
    GroundedCall,
    Grounder,
    Model,
    Planner,
    Role,
    ToolCall,
)
from hisa.screen.observation import Observation
from hisa.sequence import ground_calls
from hisa.wiring.memo import MemoGrounder, TellingGrounder

__all__ = ["scaled"]


def scaled(
    settings: Settings,
    planner: Planner,
    grounder: Grounder,
    models: Mapping[Role, Model],
    emit: Emit,
    *,
    profile: Profile,
) -> tuple[Planner, Grounder]:
    """A planner that samples, and the agent's side of the grounder that they share.

    Raises:
        ConfigError: this planner cannot be sampled.
    """
    from hisa.planner.open_scaling import open_scaling  # most runs ask once

    memo = MemoGrounder(grounder)
    judge = models.get("judge", models["planner"])
    scaled = open_scaling(settings, planner, _Calls(memo), judge, emit=emit, profile=profile)
    return scaled, TellingGrounder(memo, emit=emit)


class _Calls:
    """Resolves all calls of a sequence with another grounder."""

    def __init__(self, inner: Grounder) -> None:
        self._inner = inner

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """See `hisa.sequence.ground_calls`."""
        return await ground_calls(call, observation, self._inner)
