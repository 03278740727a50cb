"""A program played on a machine as a run like any other, and what came of it.

The agent's own loop plays it: each act is held to the look that it was decided on, asked of the
policy, logged, scored. What a run comes to is one of seven outcomes.
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

__all__ = ["OUTCOMES", "Outcome", "PlayResult", "play", "play_and_mend", "settings_for"]
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
"""What a replay can come to, and the exit status of each."""
_BROKEN = ("environment_error", "agent_broke_machine", "model_error")
_DONE = ("succeeded", "ended")  # the last one by a page that takes no more
_WAITS = 60  # steps that a program's step may take: itself, waits and turns of the wheel


@dataclass(frozen=True)
class PlayResult:
    """What came of a replay; ``folder`` is its run's."""

    outcome: Outcome
    reason: str
    folder: Path
    steps: int
    score: float | None = None


def settings_for(settings: Settings, program: Program, place: Path, mends: str = "") -> Settings:
    """The settings of a run that plays it: no model is asked, and nothing is learned.

    With ``mends``, a folder for the mended program, one is asked for a step that cannot go on.
    """
    model = f"program:{place.resolve()}"
    tree = settings.model_dump(mode="json")
    tree["models"] |= {role: {"model": "offline"} for role in ("state", "judge")}
    tree["planner"] |= {"sequence": 1, "samples": 1, "leads": f"{model}#mend:{mends}" * bool(mends)}
    if not mends:
        tree["models"] |= {"planner": {"model": model}, "grounder": None}
        tree["grounder"]["kind"] = "elements"
        tree["planner"]["kind"] = "auto"
    tree["patterns"]["enabled"] = False
    many = _WAITS * len(program.steps) * (3 if mends else 1) + 1
    tree["run"]["max_steps"] = min(1000, many)
    return Settings.model_validate(tree)


def task_of_program(program: Program) -> Task:
    """The task that a program does."""
    return TaskRecord.model_validate(dict(program.task)).task()


async def play(
    place: Path,
    settings: Settings,
    *,
    environment: Environment | None = None,
    tell: Callable[[str], object] = lambda _: None,
    mends: str = "",
    models: Mapping[Role, Model] | None = None,
) -> PlayResult:
    """Play the program of a folder on a fresh machine.

    Args:
        place: its folder.
        settings: as for a run; models are replaced.
        environment: a started one, which is left open; None: a fresh one by the settings.
        tell: gets a line for each step.
        mends: see `settings_for`.
        models: own ones in place of those of the settings, where a step is to be mended.

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
        settings=settings_for(settings, program, place, mends),
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


async def play_and_mend(
    place: Path,
    settings: Settings,
    *,
    tell: Callable[[str], object],
    **parts: Any,
) -> tuple[PlayResult, bool]:
    """`play`, with a planner for what cannot go on; keeps what is mended where it plays again.

    The program as it was stays beside it. ``parts`` are ``models`` and ``environment`` of the first
    play alone.

    Returns:
        What came of the first play, and whether a mended program was kept.

    Raises:
        UsageError: the machine keeps what is done to it, so that it is no place to play it again.
    """
    if not settings.environment.throw_away:
        reason = f"{settings.environment.kind!r} keeps what is done to it"
        raise UsageError(f"a mended program is played twice; {reason}", fix="--env desktop")
    old = place / "program.yaml"
    with TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as name:
        part, copy_files = Path(name), partial(shutil.copytree, dirs_exist_ok=True, ignore=_no_yaml)
        copy_files(place, part)
        played = await play(place, settings, tell=tell, mends=str(part), **parts)
        if played.outcome != "verified" or not (part / old.name).exists():
            return played, False
        mended = records.read_program(part)
        old_lines, new_lines = (
            file.read_text("utf-8").splitlines() for file in (old, part / old.name)
        )
        difference = "\n".join(
            unified_diff(old_lines, new_lines, "as it was", "mended", n=2, lineterm="")
        )
        tell(difference)
        again = await play(part, settings, tell=tell)
        if again.outcome != "verified":
            tell(f"not kept: played once more, it is {again.outcome}: {again.reason}")
            return played, False
        copy_files(part, place)
        tell(f"kept; the program as it was is {_keep(mended, place, played, again)}")
    return played, True


def _keep(mended: Program, place: Path, played: PlayResult, again: PlayResult) -> Path:
    """Store a mended program that played again; returns the file of the program as it was."""
    old, file = records.read_program(place), place / "program.yaml"
    lines = (f"{line}; by {played.folder.name}" for line in mended.repaired[len(old.repaired) :])
    at = datetime.now(UTC).isoformat(timespec="seconds")
    proof = records.Proof(run=again.folder.name, by="check", at=at)
    backup = file.with_suffix(f".yaml.{len(old.repaired) + 1}")
    shutil.copy2(file, backup)
    update = {"repaired": (*old.repaired, *lines), "proof": proof}
    records.write_program(mended.model_copy(update=update), place)
    return backup


def _no_yaml(_: str, names: Collection[str]) -> list[str]:
    return [name for name in names if name.startswith("program.yaml")]
