"""Plays a program on a machine as a run like any other, and says how it ended.

The agent's own loop plays it: each act is held to the look that it was decided on, decided by the
policy, and logged, and the run is scored. There are seven outcomes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import unified_diff
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import hisa
from hisa.config import Settings
from hisa.errors import UsageError
from hisa.events import Decided, Event, Noted
from hisa.plugins.replay import program_records as records
from hisa.plugins.replay.program_player import HALTED, REFUSED
from hisa.plugins.replay.program_records import Program
from hisa.protocols import Environment, Model, Role, Task
from hisa.runs.manifest import TaskRecord

__all__ = ["OUTCOMES", "Outcome", "PlayResult", "play", "play_and_repair", "settings_for"]
__all__ += ["task_of_program"]

Outcome = Literal[
    "verified",
    "done unverified",
    "halted before effect",
    "effect unknown",
    "refused by policy",
    "machine failed",
    "stopped",
]
OUTCOMES: Mapping[Outcome, int] = {
    "verified": 0, "done unverified": 1, "halted before effect": 1, "effect unknown": 1,
    "refused by policy": 1, "machine failed": 3, "stopped": 1,
}  # fmt: skip
"""The outcomes of a replay, and the exit status of each."""
_BROKEN = ("environment_error", "agent_broke_machine", "model_error")
_DONE = ("succeeded", "ended")  # "ended": by a page that takes no more
_WAITS = 60  # steps of a run that a program's step may take: itself, waits and scrolling


@dataclass(frozen=True)
class PlayResult:
    """The outcome of a replay; ``folder`` is that of its run."""

    outcome: Outcome
    reason: str
    folder: Path
    steps: int
    score: float | None = None


def settings_for(settings: Settings, program: Program, place: Path, repairs: str = "") -> Settings:
    """Returns the settings of a run that plays a program: it asks no model, and learns nothing.

    Args:
        settings: the settings, as for a run.
        program: the program; the limit of steps is made for its length.
        place: the folder of the program.
        repairs: a folder for the repaired program. If it is given, the planner's model is asked
            for a step that cannot be done.
    """
    model = f"program:{place.resolve()}"
    tree = settings.model_dump(mode="json")
    tree["models"] |= {role: {"model": "offline"} for role in ("state", "judge")}
    leads = f"{model}#mend:{repairs}" if repairs else ""
    tree["planner"] |= {"sequence": 1, "samples": 1, "leads": leads}
    if not repairs:
        tree["models"] |= {"planner": {"model": model}, "grounder": None}
        tree["grounder"]["kind"] = "elements"
        tree["planner"]["kind"] = "auto"
    tree["patterns"]["enabled"] = False
    many = _WAITS * len(program.steps) * (3 if repairs else 1) + 1
    tree["run"]["max_steps"] = min(1000, many)
    return Settings.model_validate(tree)


def task_of_program(program: Program) -> Task:
    """Returns the task that a program does."""
    return TaskRecord.model_validate(dict(program.task)).task()


async def play(
    place: Path,
    settings: Settings,
    *,
    environment: Environment | None = None,
    tell: Callable[[str], object] = lambda _: None,
    repairs: str = "",
    models: Mapping[Role, Model] | None = None,
) -> PlayResult:
    """Plays the program in a folder on a fresh machine.

    Args:
        place: the folder of the program.
        settings: the settings, as for a run; its models are replaced.
        environment: a started machine, which is left open; None for a fresh one by the settings.
        tell: takes a line for each step.
        repairs: see `settings_for`.
        models: models in place of those of the settings, if a step is to be repaired.

    Raises:
        OperatorError: it cannot be played here; ``fix`` is the command that helps.
    """
    program, refused = records.read_program(place), list[str]()

    def listen(event: Event) -> None:
        if isinstance(event, Decided) and not event.allowed:
            refused.append(": ".join(filter(None, (event.rule, event.why))))
        if isinstance(event, Noted) and event.where in ("replay", "repair"):
            tell(event.text)

    agent = hisa.Agent(
        models,
        settings=settings_for(settings, program, place, repairs),
        environment=environment,
        on_event=listen,
    )
    result = await agent.run(task_of_program(program))
    return PlayResult(
        _outcome(result, refused),
        _reason(result, refused),
        result.folder,
        result.steps,
        result.score,
    )


def _outcome(result: hisa.RunResult, refused: list[str]) -> Outcome:
    if result.status == "stopped":
        return "stopped"
    if result.status in _BROKEN:
        return "machine failed"
    if result.status in _DONE and result.success:
        return "done unverified" if result.score_state == "no_check" else "verified"
    if refused or result.message.startswith(REFUSED):
        return "refused by policy"
    if result.message.startswith(HALTED):
        return "halted before effect"
    scored = result.status in _DONE and result.score_state != "score_failed"
    return "done unverified" if scored else "effect unknown"


def _reason(result: hisa.RunResult, refused: list[str]) -> str:
    if result.status in _DONE and result.score_detail:
        return result.score_detail
    return refused[0] if refused and result.status not in _DONE else result.message


async def play_and_repair(
    place: Path,
    settings: Settings,
    *,
    tell: Callable[[str], object],
    **parts: Any,
) -> tuple[PlayResult, bool]:
    """Plays a program with a planner for steps that cannot be done, then the repaired program.

    The repaired program is stored if it can be played again; a copy of the old one stays beside it.

    Args:
        place: the folder of the program.
        settings: the settings, as for a run.
        tell: takes a line for each step, and the difference between the programs.
        parts: the arguments ``models`` and ``environment`` of `play`, for the first play alone.

    Returns:
        The outcome of the first play, and whether a repaired program was stored.

    Raises:
        UsageError: the machine keeps what is done to it, so it cannot be played again there.
    """
    if not settings.environment.throw_away:
        reason = f"{settings.environment.kind!r} keeps what is done to it"
        raise UsageError(f"a repaired program is played twice; {reason}", fix="--env desktop")
    old = place / "program.yaml"
    with TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as name:
        part, copy_files = Path(name), partial(shutil.copytree, dirs_exist_ok=True, ignore=_no_yaml)
        copy_files(place, part)
        played = await play(place, settings, tell=tell, repairs=str(part), **parts)
        if played.outcome != "verified" or not (part / old.name).exists():
            return played, False
        repaired = records.read_program(part)
        old_lines, new_lines = (
            file.read_text("utf-8").splitlines() for file in (old, part / old.name)
        )
        difference = "\n".join(
            unified_diff(old_lines, new_lines, "before", "repaired", n=2, lineterm="")
        )
        tell(difference)
        again = await play(part, settings, tell=tell)
        if again.outcome != "verified":
            tell(f"not kept: played once more, it is {again.outcome}: {again.reason}")
            return played, False
        copy_files(part, place)
        tell(f"kept; the old program is {_keep(repaired, place, played, again)}")
    return played, True


def _keep(repaired: Program, place: Path, played: PlayResult, again: PlayResult) -> Path:
    """Store a repaired program that was played again; returns the file of the old one."""
    old, file = records.read_program(place), place / "program.yaml"
    lines = (f"{line}; by {played.folder.name}" for line in repaired.repaired[len(old.repaired) :])
    at = datetime.now(UTC).isoformat(timespec="seconds")
    proof = records.Proof(run=again.folder.name, by="check", at=at)
    backup = file.with_suffix(f".yaml.{len(old.repaired) + 1}")
    shutil.copy2(file, backup)
    update = {"repaired": (*old.repaired, *lines), "proof": proof}
    records.write_program(repaired.model_copy(update=update), place)
    return backup


def _no_yaml(_: str, names: Collection[str]) -> list[str]:
    return [name for name in names if name.startswith("program.yaml")]
