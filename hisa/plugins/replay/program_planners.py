"""``--model program:FOLDER``, and ``planner.leads``: a stored program acts, then another planner.

For `hisa run --reuse`, that planner goes on where the program ends. For `hisa replay --repair`, it
is asked for a step that cannot be done: its act must not meet a look-alike, and is judged by the
effects of the step.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hisa.actions import Write, parse, points, to_source, to_space
from hisa.config import ModelSettings
from hisa.errors import ActionRefused, UsageError
from hisa.events import Noted
from hisa.hooks import Hook, Run, Step, StepAction
from hisa.plugins.replay import program_player as player
from hisa.plugins.replay import program_records as records
from hisa.plugins.replay.program_records import Program, ProgramStep, Target
from hisa.plugins.replay.run_compiler import target_at
from hisa.plugins.replay.surroundings import OTHERS, figureless, says
from hisa.plugins.replay.target_ladder import Missing, find_target, target_of
from hisa.plugins.synthesis.silent_model import ElementsKind, SilentModel, silent_profile
from hisa.protocols import Emit, Environment, GroundedCall, Planner, StateView, Task, ToolCall
from hisa.screen.hit_test import focused_element
from hisa.screen.observation import Observation
from hisa.text.prompt_text import one_line
from hisa.text.prompts import render
from hisa.wiring.planner_kind import PlannerParts

__all__ = ["PROGRAM", "FirstProgram", "ProgramModel", "Repairer", "fitting_program"]
__all__ += ["meets_another"]

_log = logging.getLogger(__name__)

_CALLS, _WAITS = 2, 10
"""Most calls of the planner for a step; most waits, of two seconds, for the effects of its act."""


class FirstProgram(Hook):
    """A planner that plays the stored program that fits a task, then hands over to another planner.

    It is also a hook of its run: it gives the program's calls their places, so that nothing is
    grounded.

    Args:
        program: the folder of a program, or a folder of programs.
        planner: the planner that goes on after the program, or without one.

    Raises:
        UsageError: no second run proved the program.
    """

    name = "program"

    def __init__(self, program: str | Path, planner: Planner) -> None:
        self._planner = planner
        self._folder = Path(str(program).removeprefix("program:")).expanduser()
        self._emit: Emit = lambda _: None
        self._environment: Environment | None = None
        self._begun = False
        self._player: player.ProgramPlayer | None = None
        if self._is_one:
            self._open(self._folder)

    @property
    def _is_one(self) -> bool:
        return (self._folder / "program.yaml").exists()

    def _open(self, folder: Path) -> player.ProgramPlayer:
        program = records.read_program(folder)
        if program.proof is None:
            reason = f"{folder}: no second run proved it, so it cannot go before a planner"
            raise UsageError(reason, fix="hisa compile RUN")
        return player.ProgramPlayer(self._emit, program, folder, self._environment)

    async def on_start(self, run: Run) -> None:
        """Take the log for notes, and the machine for hidden elements; see `Hook`."""
        self._emit, self._environment = run.log.emit, run.environment
        self._begun, self._player = False, None

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the program's next call, or the other planner's.

        Args:
            task: the task of the run, by which a program is chosen.
            observation: the newest look.
            view: the state; a program begins only if no step was done yet.
        """
        if not self._begun:
            self._begin(task, view)
        if self._player is None:
            return await self._planner.plan(task, observation, view)
        call = self._player.decide(await self._player.add_hidden_elements(observation), view)
        if call.tool != "infeasible":
            return self._player.announce(call)
        reason = f"a stored program did {self._player.at} steps and ends: {one_line(call.thought)}"
        self._player = None
        self._note(reason)
        notice = f"{view.notice}\n{reason[:500]}".strip()
        return await self._planner.plan(task, observation, replace(view, notice=notice))

    async def after_plan(self, step: Step) -> None:
        """Give the program's calls their places; see `Hook`."""
        player.give_places(step, self._emit)

    def _begin(self, task: Task, view: StateView) -> None:
        self._begun = True
        if view.lines:
            self._note("steps were done before, so no program goes first")
            return
        folder = self._folder
        if not self._is_one:
            fit = fitting_program(task, folder)
            if isinstance(fit, str):
                self._note(f"no program in {folder} fits, the planner does the task: {fit}")
                return
            folder = fit
        self._player = self._open(folder)
        self._note(f"the program {self._player.name_of_program} goes first")

    def _note(self, text: str) -> None:
        self._emit(Noted(where="reuse", text=text))


def fitting_program(task: Task, folder: Path) -> Path | str:
    """Returns the one proved program with the task's instruction, or why there is none.

    Blanks in the instructions may differ.
    """
    fitting: list[Path] = []
    for file in sorted(folder.glob("*/program.yaml")):
        try:
            program = records.read_program(file.parent)
        except UsageError as error:
            _log.warning("left out: %s", error)
            continue
        if program.proof and program.instruction.split() == task.instruction.split():
            fitting.append(file.parent)
    if len(fitting) > 1:
        return f"{', '.join(place.name for place in fitting)} all fit it"
    return fitting[0] if fitting else "no proved program has its instruction"


@dataclass
class _Repair:
    """A step that cannot be done: its index, whether it was executed, the reason, its repair."""

    at: int
    was_executed: bool
    reason: str = ""
    calls: int = 0
    pending: ProgramStep | None = None
    steps: list[ProgramStep] = field(default_factory=list)
    stands: bool = True  # whether the repair may replace the step, or only go before it


class Repairer(player.ProgramPlayer):
    """Plays the program of ``model``, and asks the run's own planner for steps that cannot be done.

    The repaired program is written to ``part`` once all of its steps were done.
    """

    def __init__(self, model: str, planner: Planner, *, part: Path, emit: Emit) -> None:
        program, folder = player.open_program(model)
        super().__init__(emit, program, folder)
        self._planner, self._part = planner, part
        self._repair: _Repair | None = None
        self._refusal = ""

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the program's next call, or the planner's for a step that cannot be done.

        Args:
            task: the task of the run.
            observation: the newest look.
            view: the state, with the result of the step before.
        """
        observation = await self.add_hidden_elements(observation)
        call = self._judge_repair(observation, view) or self.decide(observation, view)
        if call.tool == "infeasible" and not self._refusal:
            was_executed = call.thought.startswith(player.UNKNOWN) and not self._awaits_next(
                observation
            )
            repair = self._repair = self._repair or _Repair(self.at - was_executed, was_executed)
            if repair.calls < _CALLS:
                repair.calls += 1
                repair.reason = one_line(call.thought.split(": ", 2)[-1])
                return await self._ask_planner(repair, task, observation, view)
        if call.tool == "termination" and self._program != records.read_program(self._folder):
            records.write_program(self._program, self._part)
        return self.announce(call)

    def _awaits_next(self, observation: Observation) -> bool:
        """Whether the step before lacks no effects but those on targets of the next step."""
        if self._last_step is None or self.at >= len(self._program.steps):
            return False
        names = {(target.role, target.name) for target in self._program.steps[self.at].targets}
        other_effects = tuple(e for e in self._last_step.effects if (e.role, e.name) not in names)
        return not player.lacking(
            self._last_step.model_copy(update={"effects": other_effects}), observation
        )

    async def _ask_planner(
        self, repair: _Repair, task: Task, observation: Observation, view: StateView
    ) -> ToolCall:
        self._waits = 0
        self._note(f"the planner is asked for step {repair.at + 1}: {repair.reason}")
        step = self._program.steps[repair.at]
        gui = step.tool == "gui_action"
        act = re.sub(r"\([\d., ]+", "(", step.action) if gui else f"{step.tool} {step.action}"
        instruction = render(
            "mend_step", program=self._program, mend=repair, step=step, act=act[:300]
        )
        repair_task = replace(task, instruction=instruction)
        newest = StateView(steps=view.steps[-1:], lines=view.lines[-1:], output=view.output)
        call = await self._planner.plan(repair_task, observation, newest)
        if call.tool == "gui_action" and not call.following:
            return call
        if call.tool in ("wait", "termination"):
            return self.announce(self._wait("looking for the effects of the step"))
        answer = one_line(f"{call.tool} {call.input}")[:200]
        self._refusal = f"{repair.reason}; the planner: {answer}"
        return self.announce(self._halt(repair, self._refusal))

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Refuse a planner's act on a look-alike; see `Hook`.

        The whole call is judged, before its first press.

        Raises:
            ActionRefused: it must not be done.
        """
        if not action.earlier_actions:
            await self._allow(action.full_call, action.full_call.target_look or step.look)

    async def _allow(self, call: GroundedCall, observation: Observation) -> None:
        repair = self._repair
        if repair is None or call.call.tool != "gui_action":
            return
        old = self._program.steps[repair.at]
        try:
            new = self._build_step(call, observation)
            another, stands = meets_another(old, new, observation)
            if another:
                raise ActionRefused(f"{repair.reason}; the planner's target: {another}")
        except ActionRefused as error:
            self._refusal = str(error)
            raise
        repair.pending, repair.stands = new, repair.stands and stands

    def _build_step(self, call: GroundedCall, observation: Observation) -> ProgramStep:
        actions = to_space(
            call.actions, "screen", screen=observation.screen, image=observation.image
        )
        targets = [
            target_at(place, observation, call.call.description) for place in points(actions)
        ]
        if None in targets:
            raise ActionRefused("no element is known where the planner acts")
        focused = None if targets else focused_element(observation)
        focus = target_of(focused, observation) if focused else None
        known = tuple(target for target in targets if target)
        return ProgramStep(action=to_source(actions), targets=known, focus=focus)

    def _judge_repair(self, observation: Observation, view: StateView) -> ToolCall | None:
        """A wait or an end that a repair still needs; None if the program goes on."""
        repair = self._repair
        if repair is None or self._refusal:
            return self._halt(repair, self._refusal) if repair else None
        newest = view.lines[-1].rpartition("Result: ")[2] if view.lines else ""
        failed = repair.pending is not None and newest.startswith("Failed")
        repair.steps += [repair.pending] if repair.pending and not failed else []
        repair.pending, step = None, self._program.steps[repair.at]
        new = repair.steps
        ahead = _edit_program(self._program, repair, new, replaces=True) if new else None
        last_step = ahead.steps[self._behind(repair) - 1] if ahead else step
        reason = player.lacking(last_step, observation)
        looked_for = not repair.was_executed and step.tool == "gui_action"
        places = self._places(step, observation) if looked_for else Missing(repair.reason)
        lost = places.reason if isinstance(places, Missing) else ""
        if not reason and repair.stands and (step.effects or (repair.steps and lost)):
            return self._take(repair, replaces=True)
        if not lost:
            return self._take(repair, replaces=False)
        halt_reason = (reason if repair.steps or repair.was_executed else lost) or lost
        if failed or self._waits >= _WAITS:
            return self._halt(repair, newest if failed else halt_reason)
        return self._wait(halt_reason)

    def _behind(self, repair: _Repair) -> int:
        return repair.at + repair.was_executed + len(repair.steps)

    def _halt(self, repair: _Repair, reason: str) -> ToolCall:
        return self._end(
            player.UNKNOWN if repair.was_executed or repair.steps else player.HALTED,
            repair.at + 1,
            reason,
        )

    def _take(self, repair: _Repair, *, replaces: bool) -> ToolCall | None:
        """Put the planner's acts into the program, which goes on after them."""
        new = self._loosen_targets(repair)
        self._repair, self._last_step, self._waits, self._again = None, None, 0, 0
        self.at = self._behind(repair)
        if not new and (repair.was_executed or not replaces):
            return None
        self._note(f"step {repair.at + 1} is repaired")
        edited = _edit_program(self._program, repair, new, replaces=replaces)
        line = f"step {repair.at + 1}: {repair.reason[:300]}"
        self._program = edited.model_copy(update={"repaired": (*edited.repaired, line)})
        return None

    def _loosen_targets(self, repair: _Repair) -> Sequence[ProgramStep]:
        """The planner's acts, with the marks that the step's target has for texts that may vary."""
        old_texts = {
            text for target in self._program.steps[repair.at].targets for text in target.beside
        }

        def loosen(target: Target) -> Target:
            texts = [figureless(t) if figureless(t) in old_texts else t for t in target.beside]
            if OTHERS in old_texts:
                texts = [*(text for text in texts if text in old_texts), OTHERS]
            return target.model_copy(update={"beside": tuple(dict.fromkeys(texts))})

        return [
            step.model_copy(update={"targets": tuple(map(loosen, step.targets))})
            for step in repair.steps
        ]

    def _note(self, text: str) -> None:
        self._emit(Noted(where="repair", text=text))


def meets_another(old: ProgramStep, new: ProgramStep, observation: Observation) -> tuple[str, bool]:
    """Returns why an act must not be done for a step, or "", and whether it may replace the step.

    An act that may not replace it may go before it, such as the click that closes a banner.

    Args:
        old: the step of the program.
        new: the planner's act, as a step.
        observation: the look on which the act would be done, with elements.
    """
    if (text := _join_typed_text(new)) and text != _join_typed_text(old):
        return f"it types “{text[:60]}”, and the step does not", False
    old_target = next(iter(old.targets or ([old.focus] if old.focus else [])), Target(role=""))
    beside, stands = ", ".join(old_target.beside[:3]), True
    if beside and not new.targets:
        return f"keys alone do not show that they are for what is beside {beside}", False
    for target in new.targets:
        match = find_target(target, observation, None)
        if isinstance(match, Missing):
            return match.reason, False
        same = says(_row(old_target), _row(target)) and bool(
            beside or target.alike == old_target.alike
        )
        entry = bool(target.beside or target.alike > 1) and target.dialog == old_target.dialog
        if not same and (entry or target.name == old_target.name):
            texts = ", ".join(target.beside[:3]) or "nothing"
            thing = f"{target.role} “{target.name}” beside {texts}"
            return f"{thing} is not what was beside {beside or 'nothing'}", False
        stands &= same
    return "", stands


def _row(target: Target) -> list[str]:
    return [text for text in target.beside if text not in (target.name, target.label)]


def _join_typed_text(step: ProgramStep) -> str:
    actions = parse(step.action) if step.tool == "gui_action" else ()
    return "".join(action.text for action in actions if isinstance(action, Write))


# ---------------------------------------------------------------- programs with other steps


def _edit_program(
    program: Program, repair: _Repair, new: Sequence[ProgramStep], *, replaces: bool
) -> Program:
    """The program with acts in place of a step, or before it; after it, if it was executed.

    The last act in place of a step must have the step's effects, on the target of the new act.
    """
    at, steps, was_executed = repair.at, list(program.steps), repair.was_executed
    old = steps[at]
    if new and replaces:
        update = {"purpose": old.purpose, "effects": old.effects}
        new = [*new[:-1], new[-1].model_copy(update=update)]
        executed_steps = [old.model_copy(update={"effects": ()})] if was_executed else []
        steps[at : at + 1] = [*executed_steps, *new]
    else:
        steps[at : at + (replaces and not was_executed)] = new
    tree = program.model_copy(update={"steps": tuple(steps)}).model_dump(mode="json")
    if new and replaces and not was_executed and len(old.targets) == len(new[-1].targets) == 1:
        old_target, new_target = (
            step.targets[0].model_dump(mode="json") for step in (old, new[-1])
        )
        tree["steps"] = _rename_targets(tree["steps"], old_target, new_target)
    return Program.model_validate(tree)


def _rename_targets(tree: Any, old_target: Mapping[str, Any], new_target: Mapping[str, Any]) -> Any:
    """Replace a target wherever a tree of steps has the same one, and its name in effects."""
    if isinstance(tree, list):
        return [_rename_targets(part, old_target, new_target) for part in tree]
    if not isinstance(tree, dict):
        return tree
    named = old_target["name"] and all(tree.get(key) == old_target[key] for key in ("role", "name"))
    if "what" in tree and named:
        return tree | {"role": new_target["role"], "name": new_target["name"]}
    keys = ("role", "name", "label", "app", "dialog", "beside")
    if "beside" in tree and all(tree[key] == old_target[key] for key in keys):
        return new_target
    return {key: _rename_targets(part, old_target, new_target) for key, part in tree.items()}


class ProgramModel(SilentModel):
    """The model ``program:FOLDER``: it selects the `ProgramPlayer`, and never answers.

    Raises:
        UsageError: there is no such program.
    """

    profile = silent_profile("program")

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        player.open_program(settings.model)


class ProgramKind(ElementsKind):
    """``planner.kind = "program"``: needs a machine that lists the elements of its screen."""

    def open(self, parts: PlannerParts) -> Planner:
        """Returns a player for one run."""
        program, folder = player.open_program(parts.model_settings.model)
        return player.ProgramPlayer(parts.emit, program, folder, parts.environment)

    def lead(self, parts: PlannerParts, planner: Planner, text: str) -> Planner:
        """Returns a planner that begins with a program; see `PlannerKind`.

        Args:
            parts: the parts of the run.
            planner: the run's own planner.
            text: a program, or a folder of programs. With "#mend:FOLDER" at its end, a `Repairer`
                repairs the program into that folder; else a `FirstProgram` plays it.
        """
        program, mark, part = text.rpartition("#mend:")
        if mark:
            return Repairer(program, planner, part=Path(part), emit=parts.emit)
        return FirstProgram(text, planner)


PROGRAM = ProgramKind()
