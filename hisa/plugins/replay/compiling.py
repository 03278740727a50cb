"""A program from the log of a run: targets from the elements of its looks, effects from both sides.

What two runs of the same steps agree on stays: an effect that came but once was the machine's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hisa.actions import Action, Drag, Move, Sleep, Write, points, to_source
from hisa.errors import UsageError
from hisa.plugins.replay.demonstration import demonstrated, has_person
from hisa.plugins.replay.program_planner import holds
from hisa.plugins.replay.program_records import Effect, Parameter, Program, ProgramStep, Target
from hisa.plugins.replay.surroundings import figureless
from hisa.plugins.replay.target_ladder import target_of
from hisa.plugins.synthesis.data.atoms import Atom, atoms_of
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory, trajectory_of
from hisa.plugins.synthesis.distinct_effects import WINDOWS
from hisa.plugins.synthesis.doing import called
from hisa.plugins.synthesis.machine_facts import element_changes
from hisa.plugins.synthesis.records import ElementChange
from hisa.runs.read import Run
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.lies_at import element_at, focused_element
from hisa.screen.observation import Observation
from hisa.text.redact import holds_redacted

__all__ = ["agreed", "compared", "compile_run", "effects_between", "proposals", "target_at"]

_MOST = 6  # effects of a step; the first ones tell most
_CUT = (48, 32)  # image pixels of the picture of what has no name
_NO_ACT = frozenset({"wait", "termination", "infeasible"})


@dataclass(frozen=True)
class _Part:
    """One action of a run with the looks that are known around it."""

    atom: Atom
    before: Look | None
    after: Look | None
    thought: str
    words: tuple[str, ...]


def compile_run(run: Run, name: str, folder: Path) -> Program:
    """The program of what a run did; pictures of what has no name go to ``folder``.

    Raises:
        UsageError: the run did not end, has no elements or no act, or its log lacks an input.
    """
    shown = has_person(run)
    found = _shown_parts(run) if shown else _parts(trajectory_of(run), run)
    parts = [part for part in found if part.atom.kind not in _NO_ACT]
    steps: list[ProgramStep] = []
    known: set[tuple[str, str]] = set()  # what was on a look before
    for number, part in enumerate(parts):
        elements = part.before.elements if part.before else ()
        known |= {(element.role, called(element)) for element in elements}
        if step := _step(part, number, folder, known):
            steps.append(step)
    if not steps:
        raise UsageError(f"{run.id}: nothing was done that could be done again", fix="hisa runs ls")
    if not any(part.before and part.before.elements for part in parts):
        raise UsageError(
            f"{run.id}: its log has no elements, so that nothing in it can be found again",
            fix="run it again on a machine that tells its elements: --env desktop",
        )
    size = next(part.before.size for part in parts if part.before)
    task = run.manifest.task
    if holds_redacted(task.model_dump()):
        raise UsageError(
            f"{run.id}: a secret was taken out of its task",
            fix="write {{secret:NAME}} in the task, and run it again",
        )
    return Program(
        name=name, instruction=task.instruction[:4000], source=(run.id,), steps=tuple(steps),
        screen=(size.width, size.height), task=task.model_dump(mode="json", exclude_defaults=True),
        proposed=proposals(steps),
    )  # fmt: skip


def _shown_parts(run: Run) -> Iterator[_Part]:
    """The acts of a person; what the agent did in the same run is no part of it."""
    for atom in demonstrated(run):
        yield _Part(atom, atom.before, atom.after, "", ())


def _parts(trajectory: Trajectory, run: Run) -> Iterator[_Part]:
    """The actions of a run; within one step the look before its first one stands for all."""
    recorded = {step.number: step for step in trajectory.steps}
    before: Look | None = None
    last = None
    for atom in atoms_of(trajectory, run):
        step = recorded[atom.step]
        before = atom.before or (before if last == atom.step else step.before)
        last = atom.step
        yield _Part(atom, before, atom.after, step.thought, step.descriptions)


def _step(
    part: _Part, number: int, folder: Path, known: Collection[tuple[str, str]]
) -> ProgramStep | None:
    atom = part.atom
    look = _observed(part.before)
    effects = _effects(part, known) if part.after is not None else ()
    if atom.tool is not None:
        return ProgramStep(
            action=atom.tool.input, tool=atom.tool.tool, purpose=part.thought[:4000],
            effects=effects,
        )  # fmt: skip
    actions = tuple(action for action in atom.actions if not isinstance(action, Sleep))
    if not actions:
        return None
    places = points(actions)
    words = part.words[0] if part.words else ""
    targets = tuple(target_at(point, look, words, f"{number}-{at}", folder)
                    for at, point in enumerate(places)) if look else ()  # fmt: skip
    focus = None
    own = atom.before is not None  # else nobody looked since an act of the same step
    if own and look is not None and not places and (focused := focused_element(look)):
        front = part.before.window if part.before is not None else ""
        if focused.window in (front, ""):  # windows behind keep their own
            focus = target_of(focused, look)
    return ProgramStep(
        action=to_source(actions), targets=targets, focus=focus, purpose=part.thought[:4000],
        effects=effects,
    )  # fmt: skip


def target_at(point: Point, look: Observation, words: str, name: str, folder: Path) -> Target:
    """The target at a place of a look, in screen space; its picture goes to ``folder``."""
    element = element_at(point, look)
    named = element is not None and (element.name or element.label or element.text)
    picture = "" if named else _picture(point, look, folder / "pictures" / f"{name}.png")
    if element is None:
        spot = (round(point.x), round(point.y))
        return Target(role="picture", words=words[:4000], picture=picture, box=spot + spot)
    return target_of(element, look, words=words, picture=picture)


def _picture(point: Point, look: Observation, file: Path) -> str:
    """Keep what lies around a point; returns its name in the program's folder."""
    at, (wide, high) = look.convert(point, "image"), _CUT
    left = min(max(0, int(at.x - wide / 2)), look.image.width - wide)
    top = min(max(0, int(at.y - high / 2)), look.image.height - high)
    cut = look.screenshot.crop(BoundingBox(left, top, left + wide, top + high))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(cut.png)
    return f"{file.parent.name}/{file.name}"


def _observed(look: Look | None) -> Observation | None:
    if look is None:
        return None
    return Observation(look.screenshot, look.size, elements=look.elements)


# ---------------------------------------------------------------- effects


def _effects(part: _Part, known: Collection[tuple[str, str]]) -> tuple[Effect, ...]:
    before, after = part.before, part.after
    if before is None or after is None or not before.elements or not after.elements:
        return ()
    one, other = _observed(before), _observed(after)
    if one is None or other is None:
        return ()
    effects = effects_between(one, other, known)
    if after.window and after.window != before.window:
        effects.insert(0, Effect(what="window", value=after.window[:4000]))
    return tuple(effects[:_MOST])


def effects_between(
    one: Observation, other: Observation, known: Collection[tuple[str, str]] = ()
) -> list[Effect]:
    """Effects that hold on the second look and not on the first, as a player reads them, by rank.

    Args:
        one: with elements.
        other: likewise.
        known: roles and names that were on an earlier look.
    """
    changes = sorted(element_changes(one, other), key=lambda change: _telling(change, known))
    effects = dict.fromkeys(effect for change in changes for effect in _effect(change))
    return [effect for effect in effects if holds(effect, other) and not holds(effect, one)]


def _telling(change: ElementChange, known: Collection[tuple[str, str]]) -> int:
    """The rank of a change as an effect: windows, values, new things, gone ones, known ones."""
    if change.what in ("came", "went") and change.role not in WINDOWS:
        if change.what == "went":
            return 3
        return 4 if (change.role, change.name) in known else 2
    return 0 if change.what in ("came", "went") else 1


def _effect(change: ElementChange) -> Iterator[Effect]:
    if change.what == "value":
        yield Effect(what="value", role=change.role, name=change.name, value=change.after)
    elif change.what == "states":
        yield Effect(what="states", role=change.role, name=change.name, value=change.after)
    elif change.name:
        yield Effect(what=change.what, role=change.role, name=change.name)


# ---------------------------------------------------------------- two runs


def agreed(program: Program, second: Program) -> Program:
    """The program with those effects alone that a second run of its steps had too.

    Figures beside a target that were others in the second run may be any.

    Raises:
        UsageError: the second run has other steps.
    """
    if len(program.steps) != len(second.steps):
        raise UsageError(
            f"the second run has {len(second.steps)} actions, the first {len(program.steps)}",
            fix="hisa compile RUN, with a run that does the task without detours",
        )
    steps = []
    for step, again in zip(program.steps, second.steps, strict=True):
        effects = tuple(effect for effect in step.effects if effect in again.effects)
        focus, targets = step.focus, step.targets
        if len(targets) == len(again.targets):
            targets = tuple(map(_beside_of_both, targets, again.targets))
        if focus is not None and again.focus is not None:
            focus = _beside_of_both(focus, again.focus)
        update = {"effects": effects, "targets": targets, "focus": focus}
        steps.append(step.model_copy(update=update))
    return program.model_copy(update={"steps": tuple(steps)})


def _beside_of_both(target: Target, again: Target) -> Target:
    others = {figureless(text) for text in again.beside}
    beside = tuple(
        text if text in again.beside or figureless(text) not in others else figureless(text)
        for text in target.beside
    )
    return target.model_copy(update={"beside": beside})


def compared(program: Program, other: Program) -> Mapping[str, Parameter]:
    """Parameters by two runs of one family: texts that were typed otherwise at the same step.

    Raises:
        UsageError: they did not do the same things.
    """
    kinds = [[_kind(step) for step in one.steps] for one in (program, other)]
    if kinds[0] != kinds[1]:
        at = next((n for n, (a, b) in enumerate(zip(*kinds, strict=False)) if a != b), 0)
        raise UsageError(
            f"{program.source[0]} and {other.source[0]} are no runs of one family: action "
            f"{at + 1} is another one, or there are more of them",
            fix="hisa compile RUN",
        )
    names: dict[str, Parameter] = {}
    for number, (one, two) in enumerate(zip(program.steps, other.steps, strict=True)):
        first, second = _typed(one), _typed(two)
        if first and second and first != second:
            name = _free(_label(program.steps, number), names)
            origin = f"{other.source[0]} typed {json.dumps(second, ensure_ascii=False)[:200]} there"
            names[name] = Parameter(value=first, origin=origin)
    return names


def proposals(steps: Sequence[ProgramStep]) -> dict[str, Parameter]:
    """Typed texts as parameters, by the labels of the fields that they went to."""
    names: dict[str, Parameter] = {}
    for number, step in enumerate(steps):
        text = _typed(step)
        if text and not any(known.value == text for known in names.values()):
            label = _label(steps, number)
            names[_free(label, names)] = Parameter(
                value=text, origin=f"typed into {label or 'a field without a label'}"
            )
    return names


def _typed(step: ProgramStep) -> str:
    from hisa.actions import parse

    if step.tool != "gui_action" or not isinstance(step.action, str):
        return ""
    return "".join(action.text for action in parse(step.action) if isinstance(action, Write))


def _kind(step: ProgramStep) -> tuple[str, ...]:
    from hisa.actions import parse

    if step.tool != "gui_action":
        return (step.tool,)
    roles = [f"{target.role} {target.name if not target.beside else ''}" for target in step.targets]
    kinds = [
        action.kind if isinstance(action, Write | Move | Drag) else _plain(action)
        for action in parse(step.action)
    ]
    return (*kinds, *roles)


def _plain(action: Action) -> str:
    return re.sub(r"\([\d., ]+", "(", to_source((action,)))


def _label(steps: Sequence[ProgramStep], number: int) -> str:
    """The name of the field that a text goes to: that of the keyboard, or of the click before."""
    for step in (steps[number], *reversed(steps[max(0, number - 3) : number])):
        for target in (*([step.focus] if step.focus else []), *reversed(step.targets)):
            if target.label or target.name:
                return target.label or target.name
    return ""


def _free(label: str, names: Mapping[str, Parameter]) -> str:
    word = re.sub(r"[^a-z0-9]+", "_", label.casefold()).strip("_")[:30] or "text"
    word = word if word[0].isalpha() else f"text_{word}"
    number = 2
    name = word
    while name in names:
        name, number = f"{word}_{number}", number + 1
    return name
