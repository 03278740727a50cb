"""The kind of planner for computer-use models: ``computer`` of ``hisa.planners``."""

from __future__ import annotations

from hisa.config import ModelSettings, PlannerSettings
from hisa.errors import ConfigError
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import Profile
from hisa.plugins.computer_use.computer import ComputerPlanner
from hisa.plugins.computer_use.responses_client import ResponsesModel
from hisa.protocols import Role
from hisa.wiring.planner_kind import PlannerKind, PlannerParts

__all__ = ["COMPUTER", "ComputerKind"]


class ComputerKind(PlannerKind):
    """The model sees the picture, and acts on its pixels by its own computer tool."""

    points = True

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings:
        """See `PlannerKind`; returns the settings unchanged.

        Args:
            settings: the planner's; sequences, and anything to see but the picture, are refused.
            profile: the model's; it must know a computer tool.
            lists: not used.
            is_named: not used.

        Raises:
            ConfigError: the settings do not fit a model with a computer tool.
        """
        if profile.reads_elements:
            raise ConfigError(
                f"planner.kind = {settings.kind!r}: {profile.name} knows no computer tool",
                fix="--set planner.kind=auto, or give --model",
            )
        if settings.sequence > 1:
            raise ConfigError(
                f"planner.sequence = {settings.sequence}: {profile.name} has a computer tool and "
                "chooses itself how many actions a call has",
                fix="--set planner.sequence=1, or --set planner.kind=chat",
            )
        if settings.sees != "picture":
            raise ConfigError(
                f"planner.sees = {settings.sees!r}: a planner with a computer tool sees the "
                "picture and nothing else",
                fix="--set planner.sees=picture, or --set planner.kind=chat",
            )
        return settings

    def adapt_profile(self, profile: Profile) -> Profile:
        """Returns the profile without seed and chat-template switch, which that API lacks."""
        efforts = () if profile.thinking_switch else profile.efforts
        return profile.model_copy(
            update={"seed": False, "efforts": efforts, "thinking_switch": False}
        )

    def client(
        self, settings: ModelSettings, endpoint: Endpoint, *, profile: Profile, section: Role
    ) -> ResponsesModel:
        """Returns a client of the Responses API.

        Args:
            settings: the role's model, limits and effort.
            endpoint: address and key.
            profile: the model's.
            section: the role, which error messages name as a section of the settings.
        """
        return ResponsesModel(settings, endpoint, profile=profile, section=section)

    def open(self, parts: PlannerParts) -> ComputerPlanner:
        """Returns a planner with the computer tool that the model knows."""
        return ComputerPlanner(
            parts.model,
            parts.tools,
            emit=parts.emit,
            functions=parts.tools.functions,
            tool=parts.profile.computer or "computer",
            confirm=parts.confirm,
            max_tokens=parts.model_settings.max_tokens,
            programs=parts.programs,
            room=parts.room,
            settings=parts.settings,
        )


COMPUTER = ComputerKind()
