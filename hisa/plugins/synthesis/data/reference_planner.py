"""``--model reference``: plays the reference of a proved task, one action a step.

So a run log of the right way is made, with a look between all actions (as WorkArena's
`cheat_function`). An element is found on the newest look; where it is not there, the run ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from hisa.actions import Action, to_source, to_space
from hisa.config import ModelSettings, Settings
from hisa.errors import ConfigError, ModelUnavailable
from hisa.events import Planned
from hisa.models.profile import Price, Profile
from hisa.plugins.synthesis.doing import actions_of, find
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.task_files import act_in_words
from hisa.protocols import Emit, ModelReply, ModelRequest, Planner, StateView, Task, ToolCall
from hisa.screen.observation import Observation
from hisa.text.prompt_text import one_line
from hisa.wiring.planner_kind import PlannerKind, PlannerParts, with_sight

__all__ = ["REFERENCE", "ReferenceModel", "ReferencePlayer", "read_reference"]

_LARGEST = 1 << 20
"""Bytes of the largest reference that is read."""
_WAITS, _SECONDS = 3, 2
"""Waits for an element to come, and the seconds of each: `doing.replay` gives it four in all."""


class _Step(BaseModel):
    act: Act


class _Reference(BaseModel):
    acts: list[_Step] = Field(min_length=1, max_length=200)


def read_reference(folder: str | Path) -> list[Act]:
    """The acts of the reference in a task's folder.

    Raises:
        ModelUnavailable: there is none that can be played.
    """
    path = Path(folder) / "reference.json"
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ValueError(f"more than {_LARGEST} bytes")
        return [step.act for step in _Reference.model_validate_json(data).acts]
    except (OSError, ValueError) as error:
        message = one_line(str(error))[:300]
        raise ModelUnavailable(
            f"no reference to play for this task: {path}: {message}",
            fix="own:DIR/tasks of hisa synth prove, or another --model",
        ) from error


class ReferenceModel:
    """The name that asks for `ReferencePlayer`; it answers nothing itself."""

    by_rules = True
    name = "reference"
    profile = Profile(
        name="reference", planner="reference", price=Price(input=0, output=0), small=True,
        sees_pictures=False, streams=False, image_tokens=0,
    )  # fmt: skip

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Raises: ModelUnavailable, always."""
        raise ModelUnavailable(
            f"{self.name} plays references, and the {request.role} model was asked",
            fix="--set models.state.model=offline",
        )


class ReferencePlayer:
    """A planner that does the acts of ``reference.json`` beside the task, and says done.

    An act of several actions (click a field, select what it holds, type) takes a step for each. An
    element that is not there is waited for; then the run ends as infeasible, with the reason.

    Args:
        emit: gets a `Planned` for each step.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._acts: deque[Act] | None = None
        self._left: deque[tuple[str, Action]] = deque()
        """Actions of the act in hand, each with its thought."""
        self._waits = 0

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """The next action of the reference; see `hisa.protocols.Planner`.

        Raises:
            ModelUnavailable: there is no reference, or steps were done before by another process.
        """
        if self._acts is None:
            if view.lines:
                raise ModelUnavailable("a reference is played from its start", fix="hisa run")
            self._acts = deque(read_reference(task.folder))
        call = self._next(self._acts, observation)
        self._emit(Planned(thought=call.thought, tool=call.tool, input=call.input))
        return call

    def _next(self, acts: deque[Act], look: Observation) -> ToolCall:
        if not self._left and acts:
            act = acts[0]
            words = one_line(act_in_words(act))
            element = find(act, look) if act.role else None
            if act.role and element is None and self._waits < _WAITS:
                self._waits += 1
                thought = f"Wait until this can be done: {words}"
                return ToolCall(thought, "wait", {"seconds": _SECONDS})
            actions = () if act.role and element is None else tuple(actions_of(act, element))
            if not actions:
                reason = f"The reference cannot be played on: {words}: "
                reason += "it is not there" if act.role else f"{act.kind} is not played"
                return ToolCall(reason, "infeasible", {"reason": reason})
            acts.popleft()
            self._waits = 0
            actions = to_space(actions, "image", screen=look.screen, image=look.image)
            self._left.extend(zip(_thoughts(act, actions), actions, strict=True))
        if not self._left:
            return ToolCall("Everything is done.", "termination", {"summary": "Done as proved."})
        thought, action = self._left.popleft()
        return ToolCall(thought, "gui_action", to_source((action,)), actions=(action,))


def _thoughts(act: Act, actions: Sequence[Action]) -> list[str]:
    """An act in words where it is one action, else each of its actions in words."""
    plain = Act(kind="click", role=act.role, name=act.name, within=act.within)
    keys = act_in_words(Act(kind="press", keys=act.keys))
    words = {
        "click": act_in_words(plain if act.kind == "type" else act),
        "write": act_in_words(Act(kind="type", text=act.text)),
    }
    thoughts = [one_line(words.get(action.kind, keys)) for action in actions]
    if act.kind == "type" and len(thoughts) > 2 and "write" not in actions[1].kind:
        thoughts[1] = "Select what it holds"  # the click, the selection, then the text
    return thoughts


class ReferenceKind(PlannerKind):
    """``planner.kind = "reference"``: needs a screen that tells its elements."""

    points = True

    def settled(
        self, settings: Settings, profile: Profile, *, lists: bool, asked: bool
    ) -> Settings:
        """See `PlannerKind`: it finds elements and points by itself."""
        if not lists or settings.planner.sequence > 1:
            raise ConfigError(
                "planner.kind = 'reference' takes one action a step, and a screen's elements",
                fix="--set planner.sequence=1 --env desktop",
            )
        grounder = settings.grounder.model_copy(update={"kind": "elements"})
        return with_sight(settings.model_copy(update={"grounder": grounder}), "elements")

    def open(self, parts: PlannerParts) -> Planner:
        """Returns a player for one run."""
        return ReferencePlayer(parts.emit)


REFERENCE = ReferenceKind()
