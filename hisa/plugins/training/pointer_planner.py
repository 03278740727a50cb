"""The kind of planner that trained policies are asked by: ``pointer`` of ``hisa.planners``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hisa.actions import Action, Click, Press, Write, to_source
from hisa.config import GrounderKind, PlannerSettings
from hisa.errors import ConfigError, InvalidReply, UsageError
from hisa.models.profiles import Profile
from hisa.planner.call_schema import Schema
from hisa.planner.planner import GlobalPlanner
from hisa.plugins.training.episodes import Act
from hisa.plugins.training.pointer_features import features
from hisa.plugins.training.screen_looks import LOOK, look_of
from hisa.protocols import StateView, Task, ToolCall
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation
from hisa.text.prompt_text import printable
from hisa.wiring.planner_kind import PlannerKind, PlannerParts

__all__ = ["POINTER", "ActReply", "PointerForm"]


class ActReply(BaseModel):
    """An act as a reply says it; see `Act`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    act: Literal["click", "type", "done"]
    item: int = -1
    word: int = -1

    def as_act(self) -> Act:
        """Returns the act."""
        return Act(self.act, self.item, self.word)


class PointerForm:
    """Asks with a look as one JSON message, and reads an act."""

    system = (
        "Answer one look at a screen with one act as JSON. Items count from 0, words of the "
        'instruction too. {"act": "click", "item": 3}, {"act": "type", "item": 1, "word": 4} or '
        '{"act": "done"}.'
    )

    def ask(
        self, task: Task, observation: Observation, view: StateView
    ) -> tuple[str, Schema | None]:
        """Returns the look as JSON; no schema is sent."""
        self._observation = observation
        self._look, self._area = look_of(observation, task.instruction)
        return LOOK.dump_json(self._look).decode(), None

    def read(self, reply: str) -> ToolCall:
        """Returns the call of an act.

        Raises:
            InvalidReply: no act, or none that the newest look allows.
        """
        try:
            act = ActReply.model_validate_json(reply).as_act()
            features(self._look).require(act)
        except (ValidationError, UsageError) as error:
            raise InvalidReply(str(error)) from error
        if act.kind == "done":
            return ToolCall("the policy ends the run", "termination", "the policy chose to end")
        item = self._look.items[act.item]
        actions: tuple[Action, ...] = (Click(at=self._point(act)),)
        thought = f'{act.kind}: {item.role} "{printable(item.name)}"'
        if act.kind == "type":
            word = features(self._look).words[act.word]
            actions, thought = (*actions, Press("end"), Write(word)), f"{thought}, {word}"
        return ToolCall(thought, "gui_action", to_source(actions), actions=actions)

    def correction(self, error: str) -> str:
        """Returns the message on a reply that cannot be used."""
        return error

    def _point(self, act: Act) -> Point:
        """The middle of an act's element, in whole pixels of the picture."""
        area, (left, top, width, height) = self._area, self._look.items[act.item].box
        x, y = left + width / 2, top + height / 2
        point = Point(area.left + x * area.width, area.top + y * area.height, "screen")
        return Point(*self._observation.convert(point, "image").rounded())


class PointerPlanner(PlannerKind):
    """Shows the look that policies are trained on, and takes one act on one of its elements."""

    points = True
    grounder: GrounderKind | None = "elements"

    def settled(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, asked: bool
    ) -> PlannerSettings:
        """See `PlannerKind`: it sees elements and points by itself."""
        if not lists or settings.sequence > 1:
            raise ConfigError(
                "planner.kind = 'pointer' takes one act a reply, and a screen's elements",
                fix="--set planner.sequence=1 --env desktop",
            )
        return settings.model_copy(update={"sees": "elements"})

    def open(self, parts: PlannerParts) -> GlobalPlanner:
        """Returns a planner that asks by `PointerForm`."""
        return self.chat(parts, PointerForm())


POINTER = PointerPlanner()
