"""The kind of planner that computer-use models are asked by: ``computer`` of ``hisa.planners``."""

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
        """See `PlannerKind`: there is nothing to settle, and three things to refuse."""
        if profile.reads_elements:
            raise ConfigError(
                f"planner.kind = {settings.kind!r}: {profile.name} knows no computer tool",
                fix="--set planner.kind=auto, or give --model",
            )
        if settings.sequence > 1:
            raise ConfigError(
                f"planner.sequence = {settings.sequence}: {profile.name} has a computer tool, "
                "whose calls hold as many actions as it likes",
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
        """That API has no seed and no switch of a chat template."""
        efforts = () if profile.thinking_switch else profile.efforts
        return profile.model_copy(
            update={"seed": False, "efforts": efforts, "thinking_switch": False}
        )

    def client(
        self, settings: ModelSettings, endpoint: Endpoint, *, profile: Profile, section: Role
    ) -> ResponsesModel:
        """Returns a client of the Responses API."""
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
