"""What the models need to know of the planner's kind."""

from __future__ import annotations

from typing import Protocol

from hisa.config import ModelSettings
from hisa.models.endpoint import Endpoint
from hisa.models.profile import Profile
from hisa.protocols import Model, Role

__all__ = ["ClientKind"]


class ClientKind(Protocol):
    """The part of a planner's kind that models use; see `hisa.wiring.planner_kind.PlannerKind`."""

    def adapt_profile(self, profile: Profile) -> Profile:
        """Returns the profile of the model when it is asked by this kind."""
        ...

    def client(
        self, settings: ModelSettings, endpoint: Endpoint, *, profile: Profile, section: Role
    ) -> Model | None:
        """Returns a client of this kind; None: chat completions.

        Args:
            settings: settings of the role's model.
            endpoint: address and key.
            profile: the model's profile, as `adapt_profile` returned it.
            section: the role whose settings error messages name.
        """
        ...
