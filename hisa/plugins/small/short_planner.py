"""The kind of planner that small models are asked by: ``short`` of ``hisa.planners``."""

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
    """Shows what bears on this screen and task, and takes one action by a number of the list."""

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings | None:
        """See `PlannerKind`: the list is always shown."""
        if not lists or settings.sequence > 1:
            if not is_named:
                return None
            raise ConfigError(
                "planner.kind = 'short' names one action a reply, by a number of the screen's "
                "list: it takes no planner.sequence above 1, no planner that points by itself or "
                "has a form of its own, and a screen that tells its elements",
                fix="--set planner.kind=chat, or --set planner.sequence=1",
            )
        if not profile.sees_pictures:
            return settings.model_copy(update={"sees": "elements"})
        sees = "both" if settings.sees == "picture" else settings.sees
        return settings.model_copy(update={"sees": sees})

    def marks(self) -> BriefMarks:
        """The list of at most 30 lines."""
        return BriefMarks()

    def open(self, parts: PlannerParts) -> GlobalPlanner:
        """Returns a planner that asks in the short form."""
        assert isinstance(parts.marks, BriefMarks)
        offered = parts.tools.fitting if parts.programs is not None else lambda task, look: ()
        form = ShortForm(parts.marks, offered, parts.settings, constrain=parts.constrained)
        return self.chat(parts, form)


SHORT = ShortPlanner()
