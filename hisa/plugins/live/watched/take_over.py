"""The hook of a run that a person steers: its moments are the agent's safe points.

It joins the run once somebody asks for a pause or takes the machine over. Nothing that the agent
decided before a person had the machine is done afterwards. A step during which a person had it is
judged from the look at which it was given back: the agent is credited with nothing that a person
did. After a pause, an act is held to its look, as after a model that took as long.
"""

from __future__ import annotations

from dataclasses import replace

from hisa.errors import ActionRefused
from hisa.hooks import Hook, Step, StepAction
from hisa.plugins.live.watched.gate import Gate
from hisa.protocols import StateView, ToolCall

__all__ = ["TakeOver"]

_LINES = 5
"""Most lines in a prompt on what persons did, the newest; chosen by hand."""


class TakeOver(Hook):
    """Parks the agent while a person wants it, and tells the planner what persons did."""

    name = "take-over"
    every_try = True

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._read = self._decided_on = len(gate.lines)
        """Counts of the lines that the planner has read, and that this step was decided on."""

    async def before_plan(self, step: Step) -> None:
        """Wait; raise `ActionRefused` if a person had the machine after the planner's look."""
        self._decided_on = len(self._gate.lines)
        await self._gate.park()
        self._refuse_earlier(step)
        step.view = self._with_lines(step.view)

    async def after_plan(self, step: Step) -> None:
        """Wait; raise `ActionRefused` if a person had the machine meanwhile and the call acts."""
        await self._gate.park()
        if step.call is None or not all(map(_only_waits, step.call.sequence)):
            self._refuse_earlier(step)

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Wait; raise `ActionRefused` if a person had the machine since it was decided."""
        await self._gate.park()
        if not _only_waits(action.call.call):
            self._refuse_earlier(step)

    async def after_action(self, step: Step, action: StepAction) -> None:
        """Judge the step without what a person did while a question waited."""
        self._judge_from_return(step)

    async def after_step(self, step: Step) -> None:
        """Wait between two steps; the next one takes a new look if a person had the machine."""
        if step.outcome is not None and step.outcome.ends:
            return
        known = len(self._gate.lines)
        await self._gate.park()
        if len(self._gate.lines) > known:
            step.after = None

    def _refuse_earlier(self, step: Step) -> None:
        lines = self._gate.lines[self._decided_on :]
        if lines:
            self._judge_from_return(step)
            raise ActionRefused(f"nothing was done: {' Then '.join(line for _, line in lines)}")

    def _judge_from_return(self, step: Step) -> None:
        if len(self._gate.lines) > self._read and self._gate.returned is not None:
            step.before = self._gate.returned

    def _with_lines(self, view: StateView) -> StateView:
        """The state with the lines on what persons did, after the steps that they followed."""
        lines = self._gate.lines
        fresh, self._read = lines[self._read :], len(lines)
        steps, refined, hidden = [*view.steps], view.refined, len(view.lines) - len(view.steps)
        for number, line in lines[-_LINES:]:
            place = min(number, len(view.lines)) - hidden - 1
            if place >= 0:
                steps[place] += f" After this step, {line}"
            elif number:
                refined = f"{refined}\nAfter step {number}, {line}".strip()
        notices = [f"{line} Go on from the screen as it is now." for _, line in fresh]
        notice = "\n".join(filter(None, (*notices, view.notice)))
        return replace(view, steps=tuple(steps), refined=refined, notice=notice)


def _only_waits(call: ToolCall) -> bool:
    """Whether a call does nothing, so that it may be old: planners answer a take-over so."""
    return call.tool == "wait"
