"""Proves a program by a second run on a clean machine, whose end is compared with the first's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from hisa.config import Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import UsageError
from hisa.plugins.replay.program_records import Program, Proof, Target
from hisa.plugins.replay.program_runs import PlayResult, play
from hisa.plugins.replay.run_compiler import compile_run
from hisa.plugins.replay.surroundings import OTHERS, figureless
from hisa.plugins.replay.target_ladder import WINDOW
from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.machine_facts import Noise, compare_facts, read_facts
from hisa.plugins.synthesis.proof_desktop import select_content_changes
from hisa.plugins.synthesis.records import Change, Effect
from hisa.runs.manifest import TaskRecord
from hisa.runs.run_reader import load_run
from hisa.state.facts import letters
from hisa.tasks.hisa_format import OWN
from hisa.tasks.scorer import TaskScorer

__all__ = ["intersect_programs", "prove"]


async def prove(
    program: Program,
    place: Path,
    settings: Settings,
    *,
    agree: Callable[[list[str]], bool],
) -> Program:
    """Plays a program once more on a clean machine; returns it with what both runs agree on.

    Args:
        program: the program in ``place``.
        place: its folder.
        settings: the settings, as for a run.
        agree: if the task has no check, asks a person whether the listed changes are wanted.

    Raises:
        UsageError: the second run did not come to the same end, or the person did not agree.
    """
    if not settings.environment.throw_away:
        reason = f"{settings.environment.kind!r} keeps what is done to it"
        raise UsageError(f"a second run needs a clean machine; {reason}", fix="--env desktop")
    by: Literal["check", "effects"] = "check"
    if program.task.get("check") is None:
        program, played = await _by_effects(program, place, settings, agree)
        by = "effects"
    else:
        played = await play(place, settings)
        if played.outcome != "verified":
            raise _build_proof_error(played)
    second = compile_run(load_run(played.folder), program.name)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    proof = Proof(run=played.folder.name, by=by, at=at)
    return intersect_programs(program, second).model_copy(update={"proof": proof})


def _build_proof_error(played: PlayResult) -> UsageError:
    return UsageError(
        f"the second run: {played.outcome}: {played.reason}. The program is not stored",
        fix=f"hisa runs report {played.folder.name}",
    )


async def _by_effects(
    program: Program, place: Path, settings: Settings, agree: Callable[[list[str]], bool]
) -> tuple[Program, PlayResult]:
    """Play it between two readings of files and settings; what changed becomes the check."""
    task = TaskRecord.model_validate(dict(program.task)).task()
    async with open_environment(settings.environment) as environment:
        await environment.reset()
        await TaskScorer(settings=settings.tasks).prepare(task, environment)
        before = await read_facts(environment)
        noise = {change.fact for change in compare_facts(before, await read_facts(environment))}
        played = await play(place, settings, environment=environment)
        if played.outcome != "done unverified":
            raise _build_proof_error(played)
        after = compare_facts(before, await read_facts(environment))
        relevant = [c for c in Noise().without(after) if c.fact not in noise and not _own(c)]
        changes = select_content_changes(relevant)
        checks = check_of(Effect(id=program.name, changes=tuple(changes), triples=(0,)))
        if isinstance(checks, str):
            raise UsageError(
                f"nothing shows that it was done: {checks}",
                fix="hisa run task.yaml, with a check in it, and compile that run",
            )
        if not agree([_words(change) for change in changes]):
            raise UsageError("nobody confirmed this result; not stored", fix="--yes")
        tree = {
            "id": task.id,
            "instruction": task.instruction,
            "domain": task.domain,
            "setup": [dict(step) for step in task.setup],
            "check": list(checks),
        }
        checked = OWN.read(Path(task.folder or ".") / "task.yaml", tree)
        scorer = TaskScorer(settings=settings.tasks)
        scoring = await scorer.score(checked, environment, "succeeded")
        if scoring.value != 1:
            reason = f"the check made of its effects does not hold: {scoring.detail}"
            raise UsageError(reason, fix="--yes")
    record = TaskRecord.of(checked).model_dump(mode="json", exclude_defaults=True)
    return program.model_copy(update={"task": record}), played


def _own(change: Change) -> bool:
    """Whether a change is a trace that any program leaves: caches, lists of recent files."""
    return bool(re.search(r"/\.(cache|local/share/recently|dbus)|lock|~$", change.fact.place))


def _words(change: Change) -> str:
    fact = " ".join(part for part in (change.fact.place, change.fact.item) if part)
    return f"{fact}: {change.before!r} → {change.after!r}"[:200]


def intersect_programs(first: Program, second: Program) -> Program:
    """Returns the first program with only the effects and texts that both programs have.

    Raises:
        UsageError: their steps differ, or nothing that both have identifies a target.
    """
    if len(first.steps) != len(second.steps):
        counts = f"{len(first.steps)} and {len(second.steps)}"
        raise UsageError(f"the two runs have {counts} actions", fix="hisa compile RUN")
    steps = []
    for first_step, second_step in zip(first.steps, second.steps, strict=True):
        pairs = zip(first_step.targets, second_step.targets, strict=True)
        update = {
            "targets": tuple(_target(*pair) for pair in pairs),
            "focus": _focus(first_step.focus, second_step.focus),
            "effects": tuple(
                effect for effect in first_step.effects if effect in second_step.effects
            ),
        }
        steps.append(first_step.model_copy(update=update))
    return first.model_copy(update={"steps": tuple(steps)})


def _target(first: Target, second: Target) -> Target:
    words = f"the act on {first.role} {first.name or first.label}"
    unnamed = not first.name and first.label != second.label
    if first.name != second.name or unnamed:
        other = second.name or second.label
        raise UsageError(f"the second run did {words} on {other}", fix="hisa compile RUN")
    beside = _beside(first.beside, second.beside)
    ordered = (first.nth, first.alike) == (second.nth, second.alike)
    several = max(first.alike, second.alike) > 1
    if several and set(beside) <= {OTHERS} and (beside or not ordered):
        reason = f"nothing that both runs have tells {words} from its look-alikes"
        raise UsageError(reason, fix="hisa compile RUN")
    update = {
        part: type(getattr(first, part))()
        for part in ("label", "window", "words", "within")
        if getattr(first, part) != getattr(second, part)
    }
    return first.model_copy(update={**update, "beside": beside})


def _focus(first: Target | None, second: Target | None) -> Target | None:
    """The target of keys: a window if one of the runs knew no more."""
    if first is None or second is None:
        return first or second
    windows = [target for target in (first, second) if target.role == WINDOW]
    if len({letters(target.name) for target in windows}) > 1:
        titles = ", ".join(f"“{target.name[:60]}”" for target in windows)
        raise UsageError(f"the same keys go to different windows: {titles}", fix="hisa compile RUN")
    return windows[0] if windows else _target(first, second)


def _beside(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """The texts of a row that both runs have, with marks for numbers and texts that may vary."""
    shared = [text for text in first if text in second]
    bare = set(map(figureless, second))
    loose = (figureless(text) for text in first if text not in shared and figureless(text) != text)
    shared += [text for text in loose if text in bare]
    has_others = max(len(first), len(second)) > len(shared)
    return (*shared, OTHERS) if has_others else tuple(shared)
