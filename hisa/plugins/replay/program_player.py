"""A planner that does what a program says, and asks no model.

Before each step, the effects of the previous one are checked: what it changed once must have
changed again. Then the targets are found, and told from look-alikes, before anything is done. If
either fails for longer than 20 seconds, the run ends and says which.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from hisa.actions import Write, map_points, parse, points, to_source, to_space
from hisa.environments.absence import absence_doubt, is_hidden, with_hidden
from hisa.errors import ModelUnavailable
from hisa.events import Noted
from hisa.grounder.pointing_grounder import take_pixels
from hisa.hooks import Hook, Run, Step
from hisa.planner.planner import build_planned_event
from hisa.plugins.replay.program_records import Effect, Program, ProgramStep, read_program
from hisa.plugins.replay.target_ladder import Missing, TargetMatch, find_target, focus_is
from hisa.plugins.synthesis.exploration_acts import read_name
from hisa.protocols import Emit, Environment, StateView, Task, ToolCall
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import PASSWORD
from hisa.state.facts import letters
from hisa.text.counts import all_of
from hisa.text.prompt_text import one_line

__all__ = ["HALTED", "REFUSED", "UNKNOWN", "ProgramPlayer", "give_places", "holds", "lacking"]
__all__ += ["open_program"]

HALTED, UNKNOWN, REFUSED = "halted before effect", "effect unknown", "refused by policy"
"""How a player's message that it cannot go on begins: nothing of the step was done, or it was done,
or a rule or a person refused it."""
_NO = r"the policy refuses this|this needs a person's word|a person refused this"
_UNDONE = re.compile(rf"Failed\. (({_NO}|not done again).*?)(\. Nothing was done.*)?$", re.DOTALL)
"""The result of an act that was not done, and would not be the next time either."""
_WAIT, _WAITS, _UNPROVED = 2, 10, 2
"""Seconds of a wait; most waits of a step; most waits if the program is not proved."""
_NOTHING = ("No visible change", "Failed")
"""The beginnings of the result of an act that may not have happened."""
_AGAIN = 2  # times that a step is tried again if the guard says that nothing was done
_RING = frozenset({"checked", "selected", "expanded", "pressed", "collapsed", "indeterminate"})


def open_program(model: str) -> tuple[Program, Path]:
    """Returns the program that a model's name means, and its folder."""
    folder = Path(model.removeprefix("program:")).expanduser()
    return read_program(folder), folder


class ProgramPlayer(Hook):
    """A planner that does the steps of a program, one after the other.

    As a hook of its run it gives its calls their places, so that nothing is grounded.
    """

    name = "program"

    def __init__(
        self, emit: Emit, program: Program, folder: Path, environment: Environment | None = None
    ) -> None:
        self._emit, self._program, self._folder = emit, program, folder
        self._environment = environment
        self.at = 0  # the index of the next step, which is the number of steps done
        self._last_step: ProgramStep | None = None  # the one whose effects are still to be seen
        self._waits = self._again = 0
        self._unseen = ""  # the result of the step before, if nothing shows that it happened

    @property
    def name_of_program(self) -> str:
        """The program that it plays."""
        return self._program.name

    async def on_start(self, run: Run) -> None:
        """Take the log for notes, and the machine for hidden elements; see `Hook`."""
        self._emit, self._environment = run.log.emit, run.environment

    async def after_plan(self, step: Step) -> None:
        """Give the program's calls their places; see `Hook`.

        Raises:
            NotFound: a place is outside the picture.
        """
        give_places(step, self._emit)

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next act, a wait, or the end.

        Args:
            task: the task of the run, which is not read.
            observation: the newest look, with elements.
            view: the state, with the result of the step before.

        Raises:
            ModelUnavailable: the run was resumed, and a program is played from its start.
        """
        if view.lines and not (self.at or self._waits):
            raise ModelUnavailable("a program is played from its start", fix="hisa replay")
        return self.announce(self.decide(await self.add_hidden_elements(observation), view))

    async def add_hidden_elements(self, observation: Observation) -> Observation:
        """Returns the look, with hidden elements if the step before was to remove something."""
        effects = self._last_step.effects if self._last_step is not None else ()
        went = any(effect.what == "went" for effect in effects)
        return await with_hidden(self._environment, observation) if went else observation

    def decide(self, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next act, a wait, or the end, which is not logged yet."""
        return self._settle(observation, view) or self._next(observation)

    def announce(self, call: ToolCall) -> ToolCall:
        """Log the call of the step; returns it, marked as a program's."""
        self._emit(build_planned_event(call))
        return replace(call, by_program=True)

    def _settle(self, observation: Observation, view: StateView) -> ToolCall | None:
        """A wait or an end that the step before still needs; None if it needs nothing."""
        step = self._last_step
        if step is None:
            return None
        result = view.lines[-1].rpartition(" | Result: ")[2] if view.lines else ""
        if (undone := _UNDONE.match(result)) and not self._waits:
            outcome = REFUSED if re.match(_NO, undone[1]) else HALTED
            return self._end(outcome, self.at, undone[1])
        if "nothing was done" in result:
            if self._again >= _AGAIN:
                return self._end(HALTED, self.at, result)
            self._again += 1
            self.at, self._last_step = self.at - 1, None
            return None
        if not self._waits:
            self._unseen = result if result.startswith(_NOTHING) and not step.effects else ""
        reason = lacking(step, observation)
        if reason and self._waits < (_WAITS if self._program.proof else _UNPROVED):
            return self._wait(reason)
        if reason and self._program.proof:
            return self._end(UNKNOWN, self.at, reason)
        self._last_step, self._waits, self._again = None, 0, 0
        return None

    def _next(self, observation: Observation) -> ToolCall:
        """The next step if its targets are there; else a wait, or the end."""
        if self.at >= len(self._program.steps):
            summary = all_of(self.at, "step", "was done", "were done").capitalize()
            summary += ", with the same effects as before." if self._program.proof else "."
            return ToolCall(summary, "termination", {"summary": summary})
        step = self._program.steps[self.at]
        thought = step.purpose or f"Step {self.at + 1} of {self._program.name}."
        if step.tool != "gui_action":
            self._go(step)
            return ToolCall(thought, step.tool, step.action)
        places = self._places(step, observation)
        if isinstance(places, Missing):
            if self._waits < _WAITS:
                return self._wait(places.reason)
            if self._unseen:
                reason = f"{one_line(self._unseen)[:200]} The next step: {places.reason}"
                return self._end(UNKNOWN, self.at, reason)
            return self._end(HALTED, self.at + 1, places.reason)
        if any(_is_so_already(step, target.element) for target in places):
            self.at, self._waits = self.at + 1, 0
            self._emit(Noted(where="replay", text=f"step {self.at} is skipped: it is so already"))
            return self._next(observation)
        self._go(step)
        left = iter([target.point for target in places])
        actions = map_points(parse(step.action), lambda _: next(left))
        image_actions = to_space(
            actions, "image", screen=observation.screen, image=observation.image
        )
        return ToolCall(
            thought, "gui_action", to_source(image_actions), actions=tuple(image_actions)
        )

    def _places(self, step: ProgramStep, observation: Observation) -> list[TargetMatch] | Missing:
        """The matches of a step's targets on this look, or why they are missing."""
        recorded = points(parse(step.action))
        if len(recorded) != len(step.targets):
            return Missing("the program does not say what it acts on")
        lax = self._program.proof is None  # the second run shows which numbers stay
        if step.focus is not None and (reason := focus_is(step.focus, observation, lax=lax)):
            return Missing(reason)
        places: list[TargetMatch] = []
        for target, point in zip(step.targets, recorded, strict=True):
            match = find_target(target, observation, point, lax=lax)
            if isinstance(match, Missing):
                return match
            if _is_so_already(step, match.element) and (reason := lacking(step, observation)):
                return Missing(f"{target.role} “{target.name}” is so already, but {reason}")
            places.append(match)
        return places

    def _go(self, step: ProgramStep) -> None:
        self.at, self._last_step, self._waits = self.at + 1, step, 0
        progress = f"step {self.at} of {len(self._program.steps)}"
        self._emit(Noted(where="replay", text=progress))

    def _wait(self, reason: str) -> ToolCall:
        self._waits += 1
        return ToolCall(f"Wait: {reason}.", "wait", {"seconds": _WAIT})

    def _end(self, outcome: str, step: int, reason: str) -> ToolCall:
        count = len(self._program.steps)
        words = f"{outcome}: step {step} of {count}: {reason}"
        return ToolCall(words, "infeasible", {"reason": words})


def give_places(step: Step, emit: Emit) -> None:
    """Give a program's call its places, so that nothing is grounded; leaves other calls alone.

    Raises:
        NotFound: a place is outside the picture.
    """
    if step.call is not None and step.call.by_program:
        step.grounded = take_pixels(step.call, step.look, emit=emit)


def _is_so_already(step: ProgramStep, element: Element | None) -> bool:
    """Whether a target already has the states that a click is to give it, and would undo."""
    states = [effect for effect in step.effects if effect.what == "states"]
    return element is not None and any(
        _is_effect_target(effect, element) and element.states & _RING == {*effect.value.split()}
        for effect in states
        if "selected" not in effect.value
    )


# ---------------------------------------------------------------- the effects of a step


def holds(effect: Effect, observation: Observation) -> bool:
    """Whether a look shows the effect of a step."""
    if effect.what == "window":
        title = observation.active.title if observation.active is not None else ""
        return letters(title) == letters(effect.value)
    same = [
        element
        for element in observation.elements or ()
        if _is_effect_target(effect, element) and {"showing", "visible"} & element.states
    ]
    if effect.what == "came":
        return bool(same)
    if effect.what == "went":
        hidden = is_hidden(observation, partial(_is_effect_target, effect))
        return not (same or hidden or absence_doubt(observation, effect.role))
    if effect.what == "value":
        return any(element.text.strip() == effect.value.strip() for element in same)
    return any(element.states & _RING == set(effect.value.split()) for element in same)


def _is_effect_target(effect: Effect, element: Element) -> bool:
    return (element.role, read_name(element)) == (effect.role, effect.name)


def lacking(step: ProgramStep, observation: Observation) -> str:
    """Returns which effect of a step is missing, as far as the look shows; empty if none is."""
    missing = next((effect for effect in step.effects if not holds(effect, observation)), None)
    return (
        _unlike_typed(step, observation)
        if missing is None
        else _effect_in_words(missing, observation)
    )


def _effect_in_words(effect: Effect, observation: Observation) -> str:
    if effect.what == "window":
        title = observation.active.title if observation.active is not None else "none"
        return f"the window in front is “{title[:60]}”, not “{effect.value[:60]}”"
    thing = f"{effect.role} “{effect.name[:60]}”"
    if effect.what == "came":
        return f"{thing} is not there"
    if effect.what == "went":
        doubt = absence_doubt(observation, effect.role)
        return f"not known whether {thing} is gone: {doubt}" if doubt else f"{thing} is still there"
    return f"{thing} does not have {effect.what} “{effect.value[:60]}”"


def _unlike_typed(step: ProgramStep, observation: Observation) -> str:
    """Returns how the text of a field differs from what was typed; empty if it is the same.

    The field is the one with the focus in the window in front, as windows behind keep their own.
    Passwords are never read.
    """
    if step.tool != "gui_action":
        return ""
    typed = "".join(action.text for action in parse(step.action) if isinstance(action, Write))
    if not typed or "{{secret:" in typed:
        return ""
    front = observation.active.title if observation.active is not None else ""
    focused = [
        element
        for element in observation.elements or ()
        if {"focused", "editable"} <= element.states
        and (not front or element.window in (front, ""))
    ]
    if not focused or focused[0].role == PASSWORD or not focused[0].text:
        return ""
    shown = "".join(focused[0].text.split())
    if "".join(typed.split()) in shown or len(shown) >= 500:
        return ""
    field = read_name(focused[0])[:40] or "the field"
    return f"{field} reads “{focused[0].text[:60]}”, not “{typed[:60]}”"
