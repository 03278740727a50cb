"""What models ask of the planner that asks them."""

from __future__ import annotations

from typing import Protocol

from hisa.config import ModelSettings
from hisa.models.endpoint import Endpoint
from hisa.models.profile import Profile
from hisa.protocols import Model, Role

__all__ = ["ClientKind"]


class ClientKind(Protocol):
    """What models ask of a planner's kind; see `hisa.wiring.planner_kind.PlannerKind`."""

    def adapt_profile(self, profile: Profile) -> Profile:
        """Returns what the model takes when it is asked so."""
        ...

    def client(
        self, settings: ModelSettings, endpoint: Endpoint, *, profile: Profile, section: Role
    ) -> Model | None:
        """Returns a client of its own; None: chat completions."""
        ...
