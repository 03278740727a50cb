"""A run's planner behind one that acts before it: `planner.leads`, opened by a `PlannerKind`.

The one that leads writes pixels, which are checked and not searched for; what it hands on is
grounded as ever. Which of both a call is of is known by the call itself.
"""

from __future__ import annotations

from hisa.config import Settings
from hisa.errors import ConfigError
from hisa.machine import plugins
from hisa.protocols import GroundedCall, Grounder, Planner, Prefetching, StateView, Task, ToolCall
from hisa.screen.observation import Observation
from hisa.wiring.base import Lead
from hisa.wiring.planner_kind import PlannerKind, PlannerParts

__all__ = ["Leads"]


class Leads:
    """Opens what leads, and tells until when nobody but that acted.

    Args:
        settings: the effective ones.
        resumed: whether the run goes on: then its own planner does.

    Raises:
        ConfigError: nobody announces what `planner.leads` names.
    """

    def __init__(self, settings: Settings, *, resumed: bool) -> None:
        self._text = "" if resumed else settings.planner.leads
        self._kind = _find(self._text) if self._text else None
        self._led: _Led | None = None

    def alone(self) -> bool:
        """Whether a planner leads and the run's own has not answered yet."""
        return self._kind is not None and (self._led is None or self._led.newest is None)

    def open(
        self, parts: PlannerParts, planner: Planner, grounder: Grounder, own: Grounder
    ) -> tuple[Planner, Grounder]:
        """Returns planner and grounder with what leads before them; themselves where nobody does.

        Args:
            parts: of the run's planner.
            planner: the run's own.
            grounder: of its calls.
            own: of calls that hold pixels of the picture.

        Raises:
            OperatorError: what leads cannot be opened.
        """
        if self._kind is None:
            return planner, grounder
        self._led = _Led(planner)
        lead = self._kind.lead(parts, self._led, self._text)
        return lead, _LedGrounder(lead, self._led, grounder, own)


def _find(text: str) -> PlannerKind:
    name = text.partition(":")[0]
    point = plugins.find("planners", name)
    if point is None or plugins.is_left_out(point):
        names = ", ".join(plugins.announced_names("planners")) or "none"
        raise ConfigError(
            f"planner.leads = {text!r}: no installed package announces the planner {name!r}; "
            f"there are: {names}",
            fix="leave --reuse out, or --set planner.leads=",
        )
    kind: PlannerKind = plugins.load("planners", point)
    return kind


class _Led:
    """The run's own planner, as the one that leads asks it."""

    def __init__(self, inner: Planner) -> None:
        self._inner = inner
        self.newest: ToolCall | None = None

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """See `hisa.protocols.Planner`."""
        self.newest = await self._inner.plan(task, observation, view)
        return self.newest


class _LedGrounder:
    def __init__(self, lead: Lead, led: _Led, grounder: Grounder, own: Grounder) -> None:
        self._lead, self._led, self._grounder, self._own = lead, led, grounder, own

    def begin(self, observation: Observation, /) -> None:
        """See `hisa.protocols.Prefetching`: handed on once the run's own planner is asked."""
        if self._led.newest is not None and isinstance(self._grounder, Prefetching):
            self._grounder.begin(observation)

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call, by whose it is.

        Raises:
            ActionRefused: it is not what was asked for, says the one that leads.
            NotFound, ModelUnavailable, BudgetExceeded: from the grounder.
        """
        if call is not self._led.newest:
            return await self._own.resolve(call, observation)
        grounded = await self._grounder.resolve(call, observation)
        await self._lead.allow(grounded, grounded.found or observation)
        return grounded
