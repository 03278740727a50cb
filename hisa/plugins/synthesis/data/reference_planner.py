"""``--model reference``: plays the reference of a proved task, with a look after each action.

It corresponds to WorkArena's `cheat_function`. If an element is not on the newest look, the run
ends.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hisa.actions import Action, to_source, to_space
from hisa.errors import ModelUnavailable
from hisa.planner.planner import build_planned_event
from hisa.plugins.synthesis.exploration_acts import actions_of, find
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.silent_model import ElementsKind, SilentModel, silent_profile
from hisa.plugins.synthesis.task_files import act_in_words
from hisa.protocols import Emit, Planner, StateView, Task, ToolCall
from hisa.screen.observation import Observation
from hisa.text.prompt_text import one_line
from hisa.wiring.planner_kind import PlannerParts

__all__ = ["REFERENCE", "ReferenceModel", "ReferencePlayer"]

_REFERENCE = TypeAdapter(dict[str, list[dict[str, Any]]])
_LARGEST, _WAITS = 1 << 20, 3
"""Most bytes of a reference, and most waits of 2 seconds for an element; a proof waits 4 s."""


class ReferenceModel(SilentModel):
    """The model name that selects `ReferencePlayer`; it does not answer requests."""

    profile = silent_profile("reference")


class ReferencePlayer:
    """A planner that does the acts in the task's ``reference.json``, and then ends the run.

    An act of several actions (click a field, select its text, type) takes one step for each.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit, self._waits = emit, 0
        self._acts: deque[Act] | None = None
        self._left: deque[tuple[str, Action]] = deque()
        """Actions left of the current act, each with its thought."""

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next action of the reference, or "infeasible" if its element is missing.

        Args:
            task: its folder has the ``reference.json``.
            observation: the newest look.
            view: of the run so far; it must have no steps at the first call.

        Raises:
            ModelUnavailable: there is no reference, or an earlier process began to play it.
        """
        if self._acts is None:
            if view.lines:
                raise ModelUnavailable(
                    "a reference can only be played from its start, in a new run", fix="hisa run"
                )
            self._acts = _read(Path(task.folder) / "reference.json")
        call = None if self._left else self._take(self._acts, observation)
        if call is None:
            thought, action = self._left.popleft()
            call = ToolCall(thought, "gui_action", to_source((action,)), actions=(action,))
        self._emit(build_planned_event(call))
        return call

    def _take(self, acts: deque[Act], observation: Observation) -> ToolCall | None:
        """Puts the next act's actions into `_left`; or returns a wait, or the call that ends it."""
        if not acts:
            return ToolCall("Everything is done.", "termination", {"summary": "Done as proved."})
        act, words = acts[0], one_line(act_in_words(acts[0]))
        element = find(act, observation) if act.role else None
        if act.role and element is None and self._waits < _WAITS:
            self._waits += 1
            return ToolCall(f"Wait until this can be done: {words}", "wait", {"seconds": 2})
        actions = tuple(actions_of(act, element)) if element or not act.role else ()
        if not actions:
            reason = f"{words}: {'it is not there' if act.role else 'not done on the screen'}"
            return ToolCall(reason, "infeasible", {"reason": reason})
        acts.popleft()
        self._waits = 0
        actions = to_space(actions, "image", screen=observation.screen, image=observation.image)
        self._left.extend((_thought(act, at, action), action) for at, action in enumerate(actions))
        return None


def _read(path: Path) -> deque[Act]:
    try:
        with path.open("rb") as file:
            steps = _REFERENCE.validate_json(file.read(_LARGEST))["acts"]
        return deque(Act.model_validate(step.get("act")) for step in steps)
    except (OSError, ValueError, KeyError) as error:
        message = f"no reference to play: {path}: {one_line(str(error))[:300]}"
        fix = "run a task of own:DIR/tasks that hisa synth prove wrote"
        raise ModelUnavailable(message, fix=fix) from error


def _thought(act: Act, at: int, action: Action) -> str:
    """Returns an act in words; if it has several actions, the words of the one at this index."""
    if action.kind == "click" and act.kind == "type":
        act = act.model_copy(update={"kind": "click", "keys": ()})
    elif action.kind == "write":
        act = Act(kind="type", text=act.text)
    elif act.kind == "type" and act.role and at == 1:
        return "Select what it holds"
    elif action.kind != "click":
        act = Act(kind="press", keys=act.keys)
    return one_line(act_in_words(act))


class ReferenceKind(ElementsKind):
    """``planner.kind = "reference"``: needs a screen that lists its elements."""

    points = True

    def open(self, parts: PlannerParts) -> Planner:
        """Returns a player for one run."""
        return ReferencePlayer(parts.emit)


REFERENCE = ReferenceKind()
