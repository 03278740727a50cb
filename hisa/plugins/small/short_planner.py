"""The planner kind for small models: ``short`` in ``hisa.planners``."""

from __future__ import annotations

from hisa.config import PlannerSettings
from hisa.errors import ConfigError
from hisa.models.profiles import Profile
from hisa.planner.planner import GlobalPlanner
from hisa.plugins.small.brief_marks import BriefMarks
from hisa.plugins.small.short_form import ShortForm
from hisa.wiring.planner_kind import PlannerKind, PlannerParts

__all__ = ["SHORT", "ShortPlanner"]


class ShortPlanner(PlannerKind):
    """The planner kind with the short prompt; a reply is one action on a number of the list."""

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings | None:
        """Returns the planner's settings, so that the list is always shown; see `PlannerKind`.

        Args:
            settings: of the planner.
            profile: of the model; without pictures, it sees the elements only.
            lists: whether a numbered list of the screen can be made and read.
            is_named: whether the settings name this kind, and not the profile.

        Returns:
            The settings; None if they do not fit and the kind is not named.

        Raises:
            ConfigError: the settings do not fit although they name this kind.
        """
        if not lists or settings.sequence > 1:
            if not is_named:
                return None
            raise ConfigError(
                "planner.kind = 'short' takes one action per reply, on a number of the screen's "
                "list: it needs planner.sequence = 1, a screen that lists its elements, and no "
                "planner that points by itself or has its own form",
                fix="--set planner.kind=chat, or --set planner.sequence=1",
            )
        if not profile.sees_pictures:
            return settings.model_copy(update={"sees": "elements"})
        sees = "both" if settings.sees == "picture" else settings.sees
        return settings.model_copy(update={"sees": sees})

    def marks(self) -> BriefMarks:
        """Returns the list, of at most 30 lines."""
        return BriefMarks()

    def open(self, parts: PlannerParts) -> GlobalPlanner:
        """Returns a planner that asks in the short form."""
        assert isinstance(parts.marks, BriefMarks)
        offered = parts.tools.fitting if parts.programs is not None else lambda task, look: ()
        form = ShortForm(parts.marks, offered, parts.settings, constrain=parts.constrained)
        return self.chat(parts, form)


SHORT = ShortPlanner()
