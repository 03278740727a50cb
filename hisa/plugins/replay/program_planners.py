"""``--model program:FOLDER``, and ``planner.leads``: a stored program acts, then another planner.

For `hisa run --reuse` that planner goes on where the program ends. For `hisa replay --repair` it is
asked for the step that cannot go on: its act must meet no look-alike, and the step's effects judge.
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

__all__ = ["PROGRAM", "FirstProgram", "Mender", "ProgramModel", "fitting_program", "meets_another"]

_log = logging.getLogger(__name__)

_CALLS, _WAITS = 2, 10
"""Of the planner for a step that cannot go on; of two seconds each, for what its act comes to."""


class FirstProgram(Hook):
    """A planner that plays the stored program that fits a task, then hands on to another for good.

    It is a hook of its run, too: the program's calls have their places, which nobody looks for.

    Args:
        program: its folder, or a folder of programs.
        planner: does what no program does.

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
            reason = f"{folder}: no second run proved it, so that it goes before no planner"
            raise UsageError(reason, fix="hisa compile RUN")
        return player.ProgramPlayer(self._emit, program, folder, self._environment)

    async def on_start(self, run: Run) -> None:
        """See `Hook`: the log gets its notes, and the machine tells what does not show."""
        self._emit, self._environment = run.log.emit, run.environment
        self._begun, self._player = False, None

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """The program's next act, or the other planner's."""
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
        """See `Hook`: a program's calls have their places."""
        player.give_places(step, self._emit)

    def _begin(self, task: Task, view: StateView) -> None:
        self._begun = True
        if view.lines:
            self._note("steps were done before, so that no program goes first")
            return
        folder = self._folder
        if not self._is_one:
            fit = fitting_program(task, folder)
            if isinstance(fit, str):
                self._note(f"no program of {folder} fits, the planner does the task: {fit}")
                return
            folder = fit
        self._player = self._open(folder)
        self._note(f"the program {self._player.name_of_program} goes first")

    def _note(self, text: str) -> None:
        self._emit(Noted(where="reuse", text=text))


def fitting_program(task: Task, folder: Path) -> Path | str:
    """The one proved program whose instruction is the task's, but for blanks; else why none is."""
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
        return f"{', '.join(place.name for place in fitting)} fit it alike"
    return fitting[0] if fitting else "none that is proved has its words"


@dataclass
class _Mend:
    """A step that cannot go on: its index, whether it was done, why, and what was done for it."""

    at: int
    was_executed: bool
    reason: str = ""
    calls: int = 0
    pending: ProgramStep | None = None
    steps: list[ProgramStep] = field(default_factory=list)
    stands: bool = True  # whether these may stand in its place, or only before it


class Mender(player.ProgramPlayer):
    """Plays the program of ``model``, and asks the run's own planner for what cannot go on.

    The mended program goes to ``part`` once all of its steps were done.
    """

    def __init__(self, model: str, planner: Planner, *, part: Path, emit: Emit) -> None:
        program, folder = player.open_program(model)
        super().__init__(emit, program, folder)
        self._planner, self._part = planner, part
        self._mend: _Mend | None = None
        self._refusal = ""

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """The program's next act, or the planner's for a step of it."""
        observation = await self.add_hidden_elements(observation)
        call = self._judge_mend(observation, view) or self.decide(observation, view)
        if call.tool == "infeasible" and not self._refusal:
            was_executed = call.thought.startswith(player.UNKNOWN) and not self._awaits_next(
                observation
            )
            mend = self._mend = self._mend or _Mend(self.at - was_executed, was_executed)
            if mend.calls < _CALLS:
                mend.calls, mend.reason = mend.calls + 1, one_line(call.thought.split(": ", 2)[-1])
                return await self._ask_planner(mend, task, observation, view)
        if call.tool == "termination" and self._program != records.read_program(self._folder):
            records.write_program(self._program, self._part)
        return self.announce(call)

    def _awaits_next(self, observation: Observation) -> bool:
        """Whether nothing is lacking of the step before but what the next one is done to."""
        if self._last_step is None or self.at >= len(self._program.steps):
            return False
        names = {(target.role, target.name) for target in self._program.steps[self.at].targets}
        other_effects = tuple(e for e in self._last_step.effects if (e.role, e.name) not in names)
        return not player.lacking(
            self._last_step.model_copy(update={"effects": other_effects}), observation
        )

    async def _ask_planner(
        self, mend: _Mend, task: Task, observation: Observation, view: StateView
    ) -> ToolCall:
        self._waits = 0
        self._note(f"the planner is asked for step {mend.at + 1}: {mend.reason}")
        step = self._program.steps[mend.at]
        gui = step.tool == "gui_action"
        act = re.sub(r"\([\d., ]+", "(", step.action) if gui else f"{step.tool} {step.action}"
        instruction = render(
            "mend_step", program=self._program, mend=mend, step=step, act=act[:300]
        )
        repair_task = replace(task, instruction=instruction)
        newest = StateView(steps=view.steps[-1:], lines=view.lines[-1:], output=view.output)
        call = await self._planner.plan(repair_task, observation, newest)
        if call.tool == "gui_action" and not call.following:
            return call
        if call.tool in ("wait", "termination"):
            return self.announce(self._wait("what the step was to come to is looked for"))
        answer = one_line(f"{call.tool} {call.input}")[:200]
        self._refusal = f"{mend.reason}; the planner: {answer}"
        return self.announce(self._halt(mend, self._refusal))

    async def before_action(self, step: Step, action: StepAction) -> None:
        """See `Hook`: the planner's act meets no look-alike.

        The whole call is judged, before its first press.

        Raises:
            ActionRefused: it must not be done.
        """
        if not action.earlier_actions:
            await self._allow(action.full_call, action.full_call.target_look or step.look)

    async def _allow(self, call: GroundedCall, observation: Observation) -> None:
        mend = self._mend
        if mend is None or call.call.tool != "gui_action":
            return
        old = self._program.steps[mend.at]
        try:
            new = self._build_step(call, observation)
            another, stands = meets_another(old, new, observation)
            if another:
                raise ActionRefused(f"{mend.reason}; what the planner acts on: {another}")
        except ActionRefused as error:
            self._refusal = str(error)
            raise
        mend.pending, mend.stands = new, mend.stands and stands

    def _build_step(self, call: GroundedCall, observation: Observation) -> ProgramStep:
        actions = to_space(
            call.actions, "screen", screen=observation.screen, image=observation.image
        )
        targets = [
            target_at(place, observation, call.call.description) for place in points(actions)
        ]
        if None in targets:
            raise ActionRefused("no element is known at the place that the planner acts on")
        focused = None if targets else focused_element(observation)
        focus = target_of(focused, observation) if focused else None
        known = tuple(target for target in targets if target)
        return ProgramStep(action=to_source(actions), targets=known, focus=focus)

    def _judge_mend(self, observation: Observation, view: StateView) -> ToolCall | None:
        """A wait or an end that a mend still needs; None: the program goes on."""
        mend = self._mend
        if mend is None or self._refusal:
            return self._halt(mend, self._refusal) if mend else None
        newest = view.lines[-1].rpartition("Result: ")[2] if view.lines else ""
        failed = mend.pending is not None and newest.startswith("Failed")
        mend.steps += [mend.pending] if mend.pending and not failed else []
        mend.pending, step = None, self._program.steps[mend.at]
        ahead = (
            _edit_program(self._program, mend, mend.steps, replaces=True) if mend.steps else None
        )
        reason = player.lacking(ahead.steps[self._behind(mend) - 1] if ahead else step, observation)
        looked_for = not mend.was_executed and step.tool == "gui_action"
        places = self._places(step, observation) if looked_for else Missing(mend.reason)
        lost = places.reason if isinstance(places, Missing) else ""
        if not reason and mend.stands and (step.effects or (mend.steps and lost)):
            return self._take(mend, replaces=True)
        if not lost:
            return self._take(mend, replaces=False)
        halt_reason = (reason if mend.steps or mend.was_executed else lost) or lost
        if failed or self._waits >= _WAITS:
            return self._halt(mend, newest if failed else halt_reason)
        return self._wait(halt_reason)

    def _behind(self, mend: _Mend) -> int:
        return mend.at + mend.was_executed + len(mend.steps)

    def _halt(self, mend: _Mend, reason: str) -> ToolCall:
        return self._end(
            player.UNKNOWN if mend.was_executed or mend.steps else player.HALTED,
            mend.at + 1,
            reason,
        )

    def _take(self, mend: _Mend, *, replaces: bool) -> ToolCall | None:
        """Put the planner's acts into the program, which goes on behind them."""
        new = self._loosen_targets(mend)
        self._mend, self._last_step, self._waits, self._again = None, None, 0, 0
        self.at = self._behind(mend)
        if not new and (mend.was_executed or not replaces):
            return None
        self._note(f"step {mend.at + 1} is mended")
        edited = _edit_program(self._program, mend, new, replaces=replaces)
        line = f"step {mend.at + 1}: {mend.reason[:300]}"
        self._program = edited.model_copy(update={"repaired": (*edited.repaired, line)})
        return None

    def _loosen_targets(self, mend: _Mend) -> Sequence[ProgramStep]:
        """The planner's acts with marks for what may be any in the row of the step's target."""
        old_texts = {
            text for target in self._program.steps[mend.at].targets for text in target.beside
        }

        def loosen(target: Target) -> Target:
            texts = [figureless(t) if figureless(t) in old_texts else t for t in target.beside]
            if OTHERS in old_texts:
                texts = [*(text for text in texts if text in old_texts), OTHERS]
            return target.model_copy(update={"beside": tuple(dict.fromkeys(texts))})

        return [
            step.model_copy(update={"targets": tuple(map(loosen, step.targets))})
            for step in mend.steps
        ]

    def _note(self, text: str) -> None:
        self._emit(Noted(where="repair", text=text))


def meets_another(old: ProgramStep, new: ProgramStep, observation: Observation) -> tuple[str, bool]:
    """Returns why an act must not be done for a step, or "", and if it may stand in its place.

    One that may not may come before the step, such as the click that closes a banner.
    """
    if (text := _join_typed_text(new)) and text != _join_typed_text(old):
        return f"it types “{text[:60]}”, and the step does not", False
    old_target = next(iter(old.targets or ([old.focus] if old.focus else [])), Target(role=""))
    beside, stands = ", ".join(old_target.beside[:3]), True
    if beside and not new.targets:
        return f"keys alone do not tell that it is what stands beside {beside}", False
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
            return f"{thing} is not what stood beside {beside or 'nothing'}", False
        stands &= same
    return "", stands


def _row(target: Target) -> list[str]:
    return [text for text in target.beside if text not in (target.name, target.label)]


def _join_typed_text(step: ProgramStep) -> str:
    actions = parse(step.action) if step.tool == "gui_action" else ()
    return "".join(action.text for action in actions if isinstance(action, Write))


# ---------------------------------------------------------------- programs with other steps


def _edit_program(
    program: Program, mend: _Mend, new: Sequence[ProgramStep], *, replaces: bool
) -> Program:
    """The program with acts in a step's place, or before it; behind it, where it was done.

    The last one in its place has to come to what it came to, under the name of what it acted on.
    """
    at, steps = mend.at, list(program.steps)
    old = steps[at]
    if new and replaces:
        update = {"purpose": old.purpose, "effects": old.effects}
        new = [*new[:-1], new[-1].model_copy(update=update)]
        executed_steps = [old.model_copy(update={"effects": ()})] if mend.was_executed else []
        steps[at : at + 1] = [*executed_steps, *new]
    else:
        steps[at : at + (replaces and not mend.was_executed)] = new
    tree = program.model_copy(update={"steps": tuple(steps)}).model_dump(mode="json")
    if new and replaces and not mend.was_executed and len(old.targets) == len(new[-1].targets) == 1:
        old_target, new_target = (
            step.targets[0].model_dump(mode="json") for step in (old, new[-1])
        )
        tree["steps"] = _rename_targets(tree["steps"], old_target, new_target)
    return Program.model_validate(tree)


def _rename_targets(tree: Any, old_target: Mapping[str, Any], new_target: Mapping[str, Any]) -> Any:
    """Steps with another target wherever the very same was meant, and its name in effects."""
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
    """The name that asks for `ProgramPlayer`; it answers nothing itself.

    Raises:
        UsageError: there is no such program.
    """

    profile = silent_profile("program")

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        player.open_program(settings.model)


class ProgramKind(ElementsKind):
    """``planner.kind = "program"``: needs a screen that tells its elements."""

    def open(self, parts: PlannerParts) -> Planner:
        """Returns a player for one run."""
        program, folder = player.open_program(parts.model_settings.model)
        return player.ProgramPlayer(parts.emit, program, folder, parts.environment)

    def lead(self, parts: PlannerParts, planner: Planner, text: str) -> Planner:
        """See `PlannerKind`.

        Returns a `Mender` where ``text`` ends with "#mend:FOLDER", else a `FirstProgram`.
        """
        program, mends, part = text.rpartition("#mend:")
        if mends:
            return Mender(program, planner, part=Path(part), emit=parts.emit)
        return FirstProgram(text, planner)


PROGRAM = ProgramKind()
