"""A bench folder made by hand, as a bench with paid models would leave it: no machine, no model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from hisa.config import load
from hisa.events import (
    ModelCalled,
    Planned,
    RunFinished,
    StepFinished,
)
from hisa.plugins.benchmarks.bench.attempt_records import (
    AttemptFinished,
    AttemptLost,
    AttemptRunning,
    AttemptStarted,
    Plan,
    PlannedTask,
    Slot,
)
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.protocols import Task
from hisa.runs.log import RunLog

DOMAINS = ("excel", "jupyter", "servicenow", "superset")
EVERY = 5


def write_run(
    root: Path,
    slot: Slot,
    *,
    steps: int,
    status: str,
    score: float | None,
) -> str:
    """A run folder whose planner text grows within each refinement interval."""
    with RunLog.create(root, Task(slot.task, "Do it.")) as log:
        for number in range(1, steps + 1):
            log.step = number
            last = number == steps and status == "succeeded"
            tool = "termination" if last else "bash_execution" if number % 4 == 0 else "gui_action"
            log.emit(Planned(thought="On.", tool=tool, input=""))
            tokens = 3000 + 200 * (number % EVERY)
            log.emit(_build_call("planner", tokens, 250, images=1))
            log.emit(_build_call("grounder", 2000, 10, images=1))
            log.emit(_build_call("state", 1100, 90, images=2))
            log.emit(StepFinished(seconds={"plan": 1.0}))
        log.emit(RunFinished(exit_status=status, score=score))
        return log.id


def _build_call(role: str, tokens_in: int, tokens_out: int, *, images: int) -> ModelCalled:
    usd = None if role == "grounder" else 2e-6 * tokens_in
    return ModelCalled(
        role=role, model=role, tokens_in=tokens_in, tokens_out=tokens_out, images=images, usd=usd
    )


def fill(
    ledger: AttemptLedger,
    slot: Slot,
    *,
    steps: int,
    status: str,
    score: float | None,
    judged_by: str = "",
) -> None:
    """Write an attempt that ended."""
    number = ledger.next_try(slot)
    key = {**slot._asdict(), "try": number}
    ledger.write(AttemptStarted.model_validate({**key, "worker": "host:1"}))
    run = write_run(ledger.runs, slot, steps=steps, status=status, score=score)
    ledger.write(AttemptRunning.model_validate({**key, "run": run}))
    end_fields = {
        "run": run,
        "status": status,
        "score": score,
        "steps": steps,
        "message": "said so",
    }
    if score is not None:
        end_fields["score_state"] = "scored"
    elif status == "succeeded":
        end_fields["score_state"] = "no_check"
    ledger.write(AttemptFinished.model_validate({**key, **end_fields, "judged_by": judged_by}))


def lose(ledger: AttemptLedger, slot: Slot) -> None:
    """Write an attempt whose worker died."""
    key = {**slot._asdict(), "try": ledger.next_try(slot)}
    ledger.write(AttemptStarted.model_validate({**key, "worker": "host:2"}))
    lost = {**key, "cause": "worker", "reason": "worker host:2 was killed by SIGKILL"}
    ledger.write(AttemptLost.model_validate(lost))


def plan(variants: Sequence[str] = ("full",), *, tasks: int = 8, repeat: int = 1) -> Plan:
    settings = load(environ={}).model_dump(mode="json")
    return Plan(
        suite="own:sample",
        variants=dict.fromkeys(variants, settings),
        tasks=tuple(
            PlannedTask(id=f"task-{n:02}", path=f"t{n}.yaml", domain=DOMAINS[n % len(DOMAINS)])
            for n in range(tasks)
        ),
        repeat=repeat,
    )


def build(
    folder: Path,
    *,
    variants: Sequence[str] = ("full",),
    tasks: int = 8,
    repeat: int = 1,
    chance: float = 0.5,
    slower: float = 1.0,
) -> Path:
    """A bench with something of everything: long and short, done and not, lost and broken."""
    dice = random.Random(7)
    ledger = AttemptLedger(folder, plan(variants, tasks=tasks, repeat=repeat))
    for slot in ledger.plan.slots:
        at = int(slot.task[-2:])
        steps = round((2 + at * 20 / tasks + dice.randrange(3)) * slower)
        if at == 3 and slot.repeat == 1:
            lose(ledger, slot)
        if at == 5:
            for _ in range(3):
                fill(ledger, slot, steps=2, status="environment_error", score=None)
            continue
        if at == 6:
            fill(ledger, slot, steps=3, status="succeeded", score=None)
            continue
        has_succeeded = dice.random() < chance
        status = "succeeded" if has_succeeded or dice.random() < 0.3 else "max_steps"
        fill(ledger, slot, steps=steps, status=status, score=float(has_succeeded))
    ledger.close()
    return folder
