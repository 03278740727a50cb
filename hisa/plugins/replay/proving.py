"""The second run of a program: on a clean machine, with its end held against the first one's."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from hisa.config import Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import UsageError
from hisa.plugins.replay.agreement import agreed
from hisa.plugins.replay.compiling import compile_run
from hisa.plugins.replay.playing import Played, play
from hisa.plugins.replay.program_records import Program, Proof
from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.machine_facts import Noise, changed, read_facts
from hisa.plugins.synthesis.proof_desktop import telling
from hisa.plugins.synthesis.records import Change, Effect
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import load_run
from hisa.tasks.hisa_format import OWN
from hisa.tasks.scorer import TaskScorer

__all__ = ["prove"]


async def prove(
    program: Program,
    place: Path,
    settings: Settings,
    *,
    agree: Callable[[list[str]], bool],
) -> Program:
    """Play it once more from a clean machine; returns it with what both runs agree on.

    Args:
        program: as it lies in ``place``.
        place: its folder.
        settings: as for a run.
        agree: asks a person whether what changed is what is meant, where the task has no check.

    Raises:
        UsageError: the second run did not come to the same end, or nobody agreed to it.
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
            raise _unproved(played)
    second = compile_run(load_run(played.folder), program.name)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    proof = Proof(run=played.folder.name, by=by, at=at)
    return agreed(program, second).model_copy(update={"proof": proof})


def _unproved(played: Played) -> UsageError:
    return UsageError(
        f"the second run: {played.outcome}: {played.reason}. The program is not stored",
        fix=f"hisa runs report {played.folder.name}",
    )


async def _by_effects(
    program: Program, place: Path, settings: Settings, agree: Callable[[list[str]], bool]
) -> tuple[Program, Played]:
    """Play it between two readings of what the machine keeps; what changed becomes the check."""
    task = TaskRecord.model_validate(dict(program.task)).task()
    async with open_environment(settings.environment) as environment:
        await environment.reset()
        await TaskScorer(settings=settings.tasks).prepare(task, environment)
        before = await read_facts(environment)
        noise = {change.fact for change in changed(before, await read_facts(environment))}
        played = await play(place, settings, environment=environment)
        if played.outcome != "done unverified":
            raise _unproved(played)
        after = changed(before, await read_facts(environment))
        kept = [c for c in Noise().without(after) if c.fact not in noise and not _own(c)]
        changes = telling(kept)
        checks = check_of(Effect(id=program.name, changes=tuple(changes), triples=(0,)))
        if isinstance(checks, str):
            raise UsageError(
                f"nothing tells that it was done: {checks}",
                fix="hisa run task.yaml, with a check in it, and compile that run",
            )
        if not agree([_words(change) for change in changes]):
            raise UsageError("nobody said that this is what is meant; not stored", fix="--yes")
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
    """Whether it is a trace that programs leave of themselves: caches, lists of recent files."""
    return bool(re.search(r"/\.(cache|local/share/recently|dbus)|lock|~$", change.fact.place))


def _words(change: Change) -> str:
    fact = " ".join(part for part in (change.fact.place, change.fact.item) if part)
    return f"{fact}: {change.before!r} → {change.after!r}"[:200]
