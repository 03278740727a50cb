"""A program played on a machine as a run like any other, and what came of it.

The agent's own loop plays it: each act is held to the look that it was decided on, asked of the
policy, logged, scored. What a run comes to is one of seven outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import hisa
from hisa.config import Settings
from hisa.events import Decided, Event, StepFinished
from hisa.plugins.replay.program_planner import HALTED, REFUSED, UNKNOWN, program_name
from hisa.plugins.replay.program_records import Program, filled
from hisa.protocols import Environment, Task
from hisa.runs.manifest import TaskRecord

__all__ = ["OUTCOMES", "Outcome", "Played", "play", "settings_for", "task_of_program"]

Outcome = Literal[
    "verified", "done unverified", "halted before effect", "effect unknown", "refused by policy",
    "machine failed", "stopped",
]  # fmt: skip
OUTCOMES: Mapping[Outcome, int] = {
    "verified": 0, "done unverified": 1, "halted before effect": 1, "effect unknown": 1,
    "refused by policy": 1, "machine failed": 3, "stopped": 1,
}  # fmt: skip
"""What a replay can come to, and the exit status of each."""
_BROKEN = ("environment_error", "agent_broke_machine", "model_error")
_WAITS = 60  # steps that a program's step may take: itself, waits and turns of the wheel


@dataclass(frozen=True)
class Played:
    """What came of a replay; ``folder`` is its run's."""

    outcome: Outcome
    reason: str
    folder: Path
    steps: int
    score: float | None = None


def settings_for(
    settings: Settings, program: Program, place: Path, values: Mapping[str, str]
) -> Settings:
    """The settings of a run that plays it: no model is asked, and nothing is learned."""
    roles = {"planner": {"model": program_name(place.resolve(), values)}}
    roles |= {role: {"model": "offline"} for role in ("state", "judge")}
    tree = settings.model_dump(mode="json")
    tree["models"] |= roles
    tree["models"]["grounder"] = None
    tree["grounder"]["kind"] = "elements"
    tree["planner"] |= {"kind": "auto", "sequence": 1, "samples": 1}
    tree["patterns"]["enabled"] = False
    tree["run"]["max_steps"] = min(1000, _WAITS * len(program.steps) + 1)
    return Settings.model_validate(tree)


def task_of_program(program: Program, values: Mapping[str, str]) -> Task:
    """The task that a program does, with its values in instruction, setup and check."""
    return TaskRecord.model_validate(dict(filled(program, values).task)).task()


async def play(
    program: Program,
    place: Path,
    settings: Settings,
    *,
    values: Mapping[str, str] | None = None,
    environment: Environment | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> Played:
    """Play the program of a folder on a fresh machine.

    Args:
        program: what is played, as it lies in ``place``.
        place: its folder.
        settings: as for a run; models are replaced.
        values: of its parameters; those left out stay as they were.
        environment: a started one, which is left open; None: a fresh one by the settings.
        tell: gets a line for each step.

    Raises:
        OperatorError: it cannot be played here; ``fix`` is the command that helps.
    """
    values = values or {}
    refused: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Decided) and not event.allowed:
            refused.append(": ".join(filter(None, (event.rule, event.why))))
        if isinstance(event, StepFinished):
            tell(f"step {event.step}")

    result = await hisa.run(
        task_of_program(program, values),
        settings=settings_for(settings, program, place, values),
        environment=environment,
        on_event=listen,
    )
    return Played(
        _outcome(result, refused),
        _reason(result, refused),
        result.folder,
        result.steps,
        result.score,
    )


def _outcome(result: hisa.RunResult, refused: list[str]) -> Outcome:
    if result.status == "stopped":
        return "stopped"
    if result.status in _BROKEN or result.score_state == "score_failed":
        return "machine failed"
    if result.status == "succeeded" and result.success:
        return "done unverified" if result.score_state == "no_check" else "verified"
    if refused or result.message.startswith(REFUSED):
        return "refused by policy"
    if result.message.startswith(HALTED):
        return "halted before effect"
    if result.message.startswith(UNKNOWN):
        return "effect unknown"
    return "done unverified" if result.status == "succeeded" else "effect unknown"


def _reason(result: hisa.RunResult, refused: list[str]) -> str:
    if result.status == "succeeded" and result.score_detail:
        return result.score_detail
    return refused[0] if refused and result.status != "succeeded" else result.message
