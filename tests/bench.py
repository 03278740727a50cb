"""Puts an agent together from real parts around a scripted planner, for loop tests."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hisa.config import PlannerSettings, StateSettings
from hisa.errors import NotFound, PluginFailed
from hisa.events import Event
from hisa.grounder.common import resolve
from hisa.grounder.elements_reader import ElementsReader
from hisa.grounder.matchers import FinderParts, find_matcher
from hisa.hooks import Hook, Hooks
from hisa.loop import Loop
from hisa.outcomes.endings import Result
from hisa.planner.planner import GlobalPlanner
from hisa.protocols import (
    Environment,
    GroundedCall,
    Grounder,
    Model,
    ModelReply,
    ModelRequest,
    Place,
    Task,
    ToolCall,
)
from hisa.runs.log import RunLog
from hisa.runs.run_reader import Run, load_run
from hisa.screen.observation import Observation
from hisa.state.base import Memory
from hisa.state.manager import build_state
from hisa.tasks.scorer import TaskScorer
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, tool_call
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution, gui_action, infeasible, termination, wait
from hisa.tools.registry import ToolRegistry

BUILT_IN = (gui_action, bash_execution, wait, termination, infeasible)


say = tool_call


def click(description: str, then: str = "") -> str:
    """A reply that clicks what is described."""
    source = "pyautogui.click(X_COORD, Y_COORD)" + (f"; {then}" if then else "")
    return say("gui_action", source, description)


def together(*calls: str) -> str:
    """A reply that holds several calls: a sequence of those that were written one by one."""
    actions = [json.loads(call) for call in calls]
    for action in actions:
        del action["thought"]
    return json.dumps({"thought": "Fill it in.", "actions": actions})


def finish(summary: str = "All done.") -> str:
    """A reply that ends the run."""
    return say("termination", summary)


def state_words(request: ModelRequest) -> str:
    """A state model in three sentences."""
    match request.text.splitlines()[0]:
        case "# Step abstraction":
            return "Succeeded. The form changed."
        case "# Context refinement":
            return f"Steps 1~{request.step}: clicked about. Suggestion: Continue."
        case _:
            return "[]"


class _ByName:
    """Finds the element of a name, where no matcher can be imported."""

    def __init__(self, parts: FinderParts) -> None:
        self._emit, self._reader = parts.emit, parts.reader

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        return await resolve(
            call, observation, locate=self._find, emit=self._emit, reader=self._reader
        )

    async def _find(self, description: str, observation: Observation) -> Place:
        elements = [*(observation.elements or ())]
        for number, element in enumerate(elements):
            if element.name and element.name.strip(":").casefold() in description.casefold():
                target = elements[number + (element.role == "label")]  # a field follows its label
                point = observation.convert_box(target.box, "image").centre
                label = f'{target.role} "{element.name}"'
                return Place(description, point, 1.0, "accessibility", label, target)
        raise NotFound(f"not found: {description}")


def _grounder(parts: FinderParts) -> Grounder:
    try:
        matcher = find_matcher()
    except PluginFailed:
        matcher = None
    return matcher.open_grounder(parts) if matcher else _ByName(parts)


def _held_acts(reader: ElementsReader) -> Hook:
    """The guard of acts, which is a plugin's."""
    from hisa.plugins.guard.acts.held_acts import HeldActs

    return HeldActs(reader)


class AtStep:
    """A scripted model whose requests name the step they belong to, with nothing else around it."""

    def __init__(self, inner: Model, step: Callable[[], int]) -> None:
        self.name, self._inner, self._step = inner.name, inner, step

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        return await self._inner.complete(replace(request, step=self._step()))


class Bench:
    """An agent on a form in memory, its log in a folder."""

    def __init__(
        self,
        folder: Path,
        planner: Model,
        *,
        state: Model | None = None,
        environment: Environment | None = None,
        max_steps: int = 50,
        memory: Memory | None = None,
        settings: StateSettings | None = None,
        stale: float = math.inf,
        sequence: int = 1,
        guards: bool | None = None,
        hooks: Sequence[Hook] = (),
    ) -> None:
        self.task = Task("form", 'Enter "Ada" as the name and save the form.')
        self.environment = environment or FakeEnvironment()
        self.log = RunLog.create(folder, self.task)
        self.state_model = state or FunctionModel(state_words)
        emit = self.log.emit
        tools = ToolRegistry([Tool(function) for function in BUILT_IN])
        self.state = build_state(
            AtStep(self.state_model, lambda: self.log.step),
            settings or StateSettings(),
            emit=emit,
            memory=memory,
        )
        reader = ElementsReader(self.environment, emit=emit)
        guarded = PlannerSettings().guards if guards is None else guards
        held = [_held_acts(reader)] if guarded else []
        self.agent = Loop(
            planner=GlobalPlanner(
                AtStep(planner, lambda: self.log.step),
                tools,
                emit=emit,
                settings=PlannerSettings(sequence=sequence),
            ),
            grounder=_grounder(FinderParts(emit, reader=reader if sequence > 1 else None)),
            state=self.state,
            tools=tools,
            hooks=Hooks([*hooks, *held], emit=emit),
            environment=self.environment,
            scorer=TaskScorer(emit=emit),
            log=self.log,
            max_steps=max_steps,
            stale=stale,
        )

    async def run(self) -> tuple[Result, Run]:
        """Run the task; the result, and the run as read back from disk."""
        result = await self.agent.run(self.task)
        self.log.close()
        return result, load_run(self.log.folder)

    def events(self) -> tuple[Event, ...]:
        """The events so far, read back from disk."""
        return load_run(self.log.folder).events
