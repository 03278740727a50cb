"""Makes a program of a run's log: targets from the elements of its looks, effects from two looks.

Only what two runs of the same steps agree on is kept later: an effect of one run alone was by
chance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from hisa.actions import Action, Sleep, Write, parse, points, to_source
from hisa.errors import UsageError
from hisa.events import Instructed
from hisa.plugins.guard.policy.command_facts import parts_of_line
from hisa.plugins.guard.policy.screen_part import apps_of, screen_parts
from hisa.plugins.replay.demonstration import has_person, read_demonstration
from hisa.plugins.replay.program_player import holds
from hisa.plugins.replay.program_records import Effect, Program, ProgramStep, Target
from hisa.plugins.replay.target_ladder import WINDOW, target_of
from hisa.plugins.synthesis.data.atoms import Atom, atoms_of
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory, trajectory_of
from hisa.plugins.synthesis.distinct_effects import WINDOWS
from hisa.plugins.synthesis.exploration_acts import read_name
from hisa.plugins.synthesis.machine_facts import element_changes
from hisa.plugins.synthesis.records import ElementChange
from hisa.protocols import GroundedCall, ToolCall
from hisa.runs.run_reader import Run
from hisa.screen.geometry import Point
from hisa.screen.hit_test import cover_at, element_at, focused_element
from hisa.screen.observation import Element, Observation
from hisa.text.redact import holds_redacted

__all__ = ["act_risk", "compile_run", "effects_between", "remarks", "target_at", "tool_risk"]

_BACK = 4  # the rank of an element that was there before, and came back
_MOST = 6  # most effects of a step; the first ones say most
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NO_ACT = frozenset({"wait", "termination", "infeasible"})


@dataclass(frozen=True)
class _Part:
    """One action of a run with the looks that are known around it."""

    atom: Atom
    before: Look | None
    after: Look | None
    thought: str
    words: tuple[str, ...]


def compile_run(run: Run, name: str) -> Program:
    """Returns the program of what a run did.

    Raises:
        UsageError: the run did not end, has no elements or no act, or its log lacks an input.
    """
    if has_person(run):  # what the agent did in the same run is left out
        every = [_Part(atom, atom.before, atom.after, "", ()) for atom in read_demonstration(run)]
    else:
        every = _parts(trajectory_of(run), run)
    parts = [part for part in every if part.atom.kind not in _NO_ACT]
    steps: list[ProgramStep] = []
    known: set[tuple[str, str]] = set()  # what was on a look before
    for number, part in enumerate(parts):
        elements = part.before.elements if part.before else ()
        known |= {(element.role, read_name(element)) for element in elements}
        if step := _step(part, number, known):
            steps.append(step)
    if not steps:
        raise UsageError(f"{run.id}: nothing was done that can be repeated", fix="hisa runs ls")
    if not any(part.before and part.before.elements for part in parts):
        raise UsageError(
            f"{run.id}: its log has no elements, so no target can be found again",
            fix="run it again on a machine that lists its elements: --env desktop",
        )
    size = next(part.before.size for part in parts if part.before)
    task = run.manifest.task
    if holds_redacted(task.model_dump()):
        raise UsageError(
            f"{run.id}: a secret was removed from its task",
            fix="write {{secret:NAME}} in the task, and run it again",
        )
    steps = _without_own_figures(steps, task.model_dump_json())
    return Program(
        name=name,
        instruction=_instruction(run)[:4000],
        source=(run.id,),
        steps=tuple(steps),
        screen=(size.width, size.height),
        task=task.model_dump(mode="json", exclude_defaults=True),
    )


def _instruction(run: Run) -> str:
    """The instruction of a run's task, also if the task's set-up made it."""
    words = [event.instruction for event in run.events if isinstance(event, Instructed)]
    return words[-1] if words else run.manifest.task.instruction


def _parts(trajectory: Trajectory, run: Run) -> list[_Part]:
    """The actions of a run; all actions of a step have the look before the first of them."""
    parts: list[_Part] = []
    recorded = {step.number: step for step in trajectory.steps}
    before: Look | None = None
    last = None
    for atom in atoms_of(trajectory, run):
        step = recorded[atom.step]
        before = atom.before or (before if last == atom.step else step.before)
        last = atom.step
        parts.append(_Part(atom, before, atom.after, step.thought, step.descriptions))
    return parts


def _step(part: _Part, number: int, known: Collection[tuple[str, str]]) -> ProgramStep | None:
    atom = part.atom
    observation = _build_observation(part.before) if part.before else None
    effects = _effects(part, known) if part.after is not None else ()
    if atom.tool is not None:
        return ProgramStep(
            action=atom.tool.input,
            tool=atom.tool.tool,
            purpose=part.thought[:4000],
            effects=effects,
            risk=tool_risk(atom.tool.tool, atom.tool.input),
        )
    actions = tuple(action for action in atom.actions if not isinstance(action, Sleep))
    if not actions:
        return None
    places = points(actions)
    words = part.words[0] if part.words else ""
    targets = [target_at(point, observation, words) for point in places] if observation else []
    if None in targets:
        raise UsageError(
            f"act {number + 1} is at a point where no element is known",
            fix="show it again, on something that has a name",
        )
    focus = None
    own = atom.before is not None  # else there was no look since an act of the same step
    if own and observation is not None and not places:
        front = part.before.window if part.before is not None else ""
        focused = focused_element(observation)
        if focused is not None and focused.window in (front, ""):  # windows behind keep their own
            focus = target_of(focused, observation)
        elif front:
            focus = Target(role=WINDOW, name=front[:4000])
    return ProgramStep(
        action=to_source(actions),
        targets=tuple(target for target in targets if target),
        focus=focus,
        purpose=part.thought[:4000],
        effects=effects,
        risk=act_risk(actions, observation) if observation else "",
    )


def target_at(point: Point, observation: Observation, words: str) -> Target | None:
    """Returns the target at a point of a look; None if no element is known there.

    Args:
        point: the point, in screen space.
        observation: the look, with elements.
        words: a description of the target; empty for none.
    """
    element = _find_clicked_element(point, observation)
    return target_of(element, observation, words=words) if element else None


def _find_clicked_element(point: Point, observation: Observation) -> Element | None:
    """The element at a point; inside a text of several lines, the smallest text or link there."""
    met, at = element_at(point, observation), observation.convert(point, "screen")
    if met is None or met.role != "static":
        return met
    same = (e for e in observation.elements or () if e.role in ("static", "link"))
    held = (e for e in same if e.window == met.window and e.box.contains(at))
    return min((e for e in held if cover_at(e, at, observation) is None), key=lambda e: e.box.area)


def _build_observation(look: Look) -> Observation:
    return Observation(look.screenshot, look.size, elements=look.elements)


# ---------------------------------------------------------------- effects


def _effects(part: _Part, known: Collection[tuple[str, str]]) -> tuple[Effect, ...]:
    before, after = part.before, part.after
    if before is None or after is None or not before.elements or not after.elements:
        return ()
    effects = effects_between(_build_observation(before), _build_observation(after), known)
    if after.window and after.window != before.window:
        effects.insert(0, Effect(what="window", value=after.window[:4000]))
    return tuple(effects[:_MOST])


def effects_between(
    before: Observation, after: Observation, known: Collection[tuple[str, str]] = ()
) -> list[Effect]:
    """Returns the effects that hold on the second look and not on the first, sorted by rank.

    An element that was there earlier counts only if nothing else changed: it may be out of sight
    the next time.

    Args:
        before: the look before the act, with elements.
        after: the look after the act, with elements.
        known: roles and names of elements of earlier looks.
    """
    changes = sorted(element_changes(before, after), key=lambda change: _rank_change(change, known))
    ranks = {effect: _rank_change(c, known) for c in reversed(changes) for effect in _effect(c)}
    effects = [e for e in reversed(ranks) if holds(e, after) and not holds(e, before)]
    return [e for e in effects if ranks[e] < _BACK] or effects


def _rank_change(change: ElementChange, known: Collection[tuple[str, str]]) -> int:
    """The rank of a change as an effect: windows, values, new elements, gone ones, known ones."""
    if change.what in ("came", "went") and change.role not in WINDOWS:
        if change.what == "went":
            return 3
        return _BACK if (change.role, change.name) in known else 2
    return 0 if change.what in ("came", "went") else 1


def _effect(change: ElementChange) -> Iterator[Effect]:
    if change.what == "value":
        yield Effect(what="value", role=change.role, name=change.name, value=change.after)
    elif change.what == "states":
        yield Effect(what="states", role=change.role, name=change.name, value=change.after)
    elif change.name:
        yield Effect(what=change.what, role=change.role, name=change.name)


def _without_own_figures(steps: Sequence[ProgramStep], words: str) -> list[ProgramStep]:
    """The steps without effects that have numbers which are neither in the task nor in an act.

    Such numbers are counts and sizes, which differ the next time.
    """
    known = set(_NUMBER.findall("\n".join([words, *map(_words, steps)])))
    return [
        step.model_copy(
            update={
                "effects": tuple(
                    effect
                    for effect in step.effects
                    if effect.what == "window"
                    or set(_NUMBER.findall(f"{effect.name}\n{effect.value}")) <= known
                )
            }
        )
        for step in steps
    ]


def _words(step: ProgramStep) -> str:
    """The texts that a step types or runs, and those of its targets, without coordinates."""
    acts = parse(step.action) if step.tool == "gui_action" else ()
    texts = [act.text for act in acts if isinstance(act, Write)] or ([] if acts else [step.action])
    named = {"name", "label", "within", "window", "beside"}
    return f"{texts} {step.model_dump(include={'targets': {'__all__': named}, 'focus': named})}"


def act_risk(actions: Sequence[Action], observation: Observation) -> str:
    """Returns the effects of an act by the policy, as "delete" or "pay, send"; empty if none."""
    call = GroundedCall(ToolCall("", "gui_action", ""), "", tuple(actions))
    parts = screen_parts(call, observation, apps_of(call, observation), home="")
    return ", ".join(sorted({effect for part in parts for effect in part.effects}))


def tool_risk(tool: str, input_: object) -> str:
    """Returns the risk of a tool's call: what it runs, and its effects if it is a command."""
    if tool != "bash_execution":
        return f"calls {tool}"
    line = str(input_.get("command", "") if isinstance(input_, dict) else input_)
    effects = sorted({effect for part in parts_of_line(line) for effect in part.effects})
    return ", ".join(["runs a command", *effects])


def remarks(steps: Sequence[ProgramStep]) -> Iterator[str]:
    """Yields a line for each risk, and for each target of which little or nothing is known."""
    for number, step in enumerate(steps, 1):
        if step.risk:
            yield f"step {number} has a risk: {step.risk}"
        if step.tool == "gui_action" and not step.targets and step.focus is None:
            yield f"step {number}: nothing says where its keys go"
        for target in step.targets:
            if not (target.name or target.label or target.beside):
                yield f"step {number}: its target, {target.role}, is known only by its order"
