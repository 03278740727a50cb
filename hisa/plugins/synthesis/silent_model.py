"""Model names that stand for planners which ask no model: references and programs."""

from __future__ import annotations

from hisa.config import GrounderKind, ModelSettings, PlannerSettings
from hisa.errors import ConfigError, ModelUnavailable
from hisa.models.profile import Price, Profile
from hisa.protocols import ModelReply, ModelRequest
from hisa.wiring.planner_kind import PlannerKind

__all__ = ["ElementsKind", "SilentModel", "silent_profile"]


def silent_profile(planner: str) -> Profile:
    """Returns the profile of a model name that selects a kind of planner."""
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
    """A model that answers no request; its ``profile`` names the kind of planner."""

    by_rules = True
    profile: Profile

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Raises ModelUnavailable, always."""
        message = f"a {self.profile.name} cannot answer requests to the {request.role} model"
        raise ModelUnavailable(message, fix="--set models.state.model=offline")


class ElementsKind(PlannerKind):
    """A kind of planner that finds elements by itself, and does one act at a time."""

    grounder: GrounderKind | None = "elements"

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings:
        """Returns the planner's settings with ``sees = "elements"``; see `PlannerKind`.

        Args:
            settings: of the planner.
            profile: of the model; its name goes into messages.
            lists: whether a numbered list of the screen can be made and read.
            is_named: whether the settings name this kind, and not the profile; not used.

        Raises:
            ConfigError: the screen lists no elements, or ``planner.sequence`` is above 1.
        """
        if not lists or settings.sequence > 1:
            message = (
                f"a {profile.name} needs a screen that lists elements, and planner.sequence = 1"
            )
            raise ConfigError(message, fix="--set planner.sequence=1 --env desktop")
        return settings.model_copy(update={"sees": "elements"})
