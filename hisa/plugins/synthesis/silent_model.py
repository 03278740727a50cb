"""A name in place of a model, and its planner, for those that ask none: references, programs."""

from __future__ import annotations

from hisa.config import GrounderKind, ModelSettings, PlannerSettings
from hisa.errors import ConfigError, ModelUnavailable
from hisa.models.profile import Price, Profile
from hisa.protocols import ModelReply, ModelRequest
from hisa.wiring.planner_kind import PlannerKind

__all__ = ["ElementsKind", "SilentModel", "silent_profile"]


def silent_profile(planner: str) -> Profile:
    """Returns the profile of a name that asks for a kind of planner."""
    return Profile(
        name=planner,
        planner=planner,
        price=Price(input=0, output=0),
        small=True,
        sees_pictures=False,
        streams=False,
        image_tokens=0,
    )


class SilentModel:
    """Answers nothing; its ``profile`` tells the planner's kind."""

    by_rules = True
    profile: Profile

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Raises: ModelUnavailable, always."""
        message = f"a {self.profile.name} does not answer the {request.role} model's questions"
        raise ModelUnavailable(message, fix="--set models.state.model=offline")


class ElementsKind(PlannerKind):
    """A kind of planner that finds elements by itself, one act at a time."""

    grounder: GrounderKind | None = "elements"

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings:
        """See `PlannerKind`.

        Raises:
            ConfigError: the screen tells no elements, or several acts are wished at once.
        """
        if not lists or settings.sequence > 1:
            message = f"a {profile.name} needs a screen's elements, and planner.sequence = 1"
            raise ConfigError(message, fix="--set planner.sequence=1 --env desktop")
        return settings.model_copy(update={"sees": "elements"})
