"""Steps made by hand, and the hooks of a run on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hisa.actions import parse, presses, to_space
from hisa.config import Settings
from hisa.environments.confirmation import Answer, Ask, Question
from hisa.errors import ActionRefused
from hisa.events import Event
from hisa.hooks import Hooks, Run, Step, StepAction
from hisa.protocols import Environment, GroundedCall, Outcome, StateView, Task, ToolCall
from hisa.runs.log import RunLog
from hisa.screen.observation import Observation
from hisa.tools.registry import ToolRegistry
from hisa.wiring.base import HookParts
from hisa.wiring.hook_list import NEEDED, applied_hooks, open_hooks
from hisa.wiring.tool_parts import allowed_tools


@dataclass
class Person:
    """Answers in order, and keeps what it was asked."""

    answers: list[Answer]
    questions: list[Question] = field(default_factory=list)

    async def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answers.pop(0)


@dataclass
class HandMade:
    """A run whose steps a test makes."""

    run: Run
    hooks: Hooks
    events: list[Event]
    number: int = 0

    async def call(
        self, tool: str, value: str, observation: Observation | None = None
    ) -> list[str]:
        """Have every press of a call allowed, as a run does; returns what was refused."""
        actions = tuple(parse(value)) if tool == "gui_action" else ()
        full_call = GroundedCall(ToolCall("", tool, value, actions=actions), value, actions)
        step = await self.step(full_call, observation)
        pieces = presses(actions)
        calls = [full_call.part(piece) for piece in pieces] if len(pieces) > 1 else [full_call]
        executed: tuple[Any, ...] = ()
        for number, call in enumerate(calls, 1):
            now = await self.run.environment.observe() if executed else step.look
            action = StepAction(call, now, number, full_call, executed)
            step.actions.append(action)
            try:
                await self.hooks.call("before_action", step, action)
            except ActionRefused as error:
                action.outcome = Outcome(False, error=str(error), refused=True)
                break
            if action.outcome is not None:
                break
            observation = step.look
            await self.run.environment.act(
                to_space(call.actions, "screen", screen=observation.screen, image=observation.image)
            )
            executed = (*executed, *call.actions)
        self.step_made = step
        return [a.outcome.error for a in step.actions if a.outcome is not None]

    async def step(self, call: GroundedCall, observation: Observation | None = None) -> Step:
        self.number += 1
        observation = observation or await self.run.environment.observe(elements=True)
        return Step(self.number, self.run, observation, StateView(), call.call, call)


def settings_of(**sections: Any) -> Settings:
    return Settings.model_validate({"patterns": {"enabled": False}, **sections})


async def start_run(
    folder: Path, machine: Environment, *, ask: Ask | None = None, **sections: Any
) -> HandMade:
    """A run with the hooks that its settings and its machine need."""
    settings, task = settings_of(**sections), Task("t", "Do it.")
    events: list[Event] = []
    log = RunLog.create(folder, task)
    with log:
        parts = HookParts(settings, log, events.append, ask)
        applied = applied_hooks(open_hooks(parts), settings, machine)
        hooks = Hooks([hook for hook in applied if hook.name in NEEDED])
        tools = ToolRegistry(allowed_tools(settings.tools), capabilities=machine.capabilities)
        run = Run(task, machine, tools, log, hooks)
        await hooks.call("on_start", run)
    return HandMade(run, hooks, events)


def answers(*kinds: Any) -> Person:
    """Somebody who says "once", "kind", "stop" or "refuse", in this order."""
    return Person([Answer(kind) for kind in kinds])


def hook_names(hooks: Sequence[Any] | Hooks) -> list[str]:
    return [hook.name for hook in hooks]
