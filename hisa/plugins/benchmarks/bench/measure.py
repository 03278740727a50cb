"""What one attempt did and cost, read from its run folder."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, Field

from hisa.actions import parse
from hisa.actions.action_records import kinds
from hisa.errors import ActionRefused, UsageError
from hisa.events import Acted
from hisa.outcomes.endings import Ending, ScoreState, is_success
from hisa.plugins.benchmarks.bench.ledger import RUNS, Attempt
from hisa.plugins.benchmarks.bench.summary import UNUSABLE
from hisa.runs.failure_class import failure_of
from hisa.runs.manifest import Totals
from hisa.runs.run_reader import Run, load_run
from hisa.runs.step_records import StepRecord

__all__ = ["Measure", "Usage", "measure"]

_KINDS = {"gui_action": "gui", "bash_execution": "bash"}
"""Which of the sums of `Usage` a tool counts in; every other tool is "other"."""
_ENDING_TOOLS = ("termination", "infeasible")
"""Tools that end the run; in old logs, the call itself does not say so."""


class Usage(Totals):
    """What a run used."""

    gui: int = 0
    """Steps that acted on the screen."""
    bash: int = 0
    """Steps that ran a command."""
    other: int = 0
    """Waits, ends, other tools, and replies that could not be used."""
    tokens_by_step: tuple[int, ...] = ()
    """Tokens in and out of all roles in each complete step."""
    actions: int = 0
    """Actions as `kinds` names them, and other tools' calls except the one that ends the run."""
    acting_steps: int = 0
    """Steps with at least one action."""
    sequences: Counter[str] = Field(default_factory=Counter)
    """Steps with more than one action, by the kinds of these, as "click, write"."""
    plan_seconds: float = 0.0
    """Seconds that the planner took, corrections of its replies included."""
    planned_steps: int = 0
    """Steps for which that time is known."""
    step_seconds: float = 0.0
    """Seconds of all complete steps: without set-up, scoring and learning."""

    @property
    def images(self) -> int:
        """Pictures sent."""
        return sum(role.images for role in self.roles.values())


class Measure(BaseModel):
    """A result: which slot it fills, how it ended, and what it used."""

    variant: str
    task: str
    repeat: int
    domain: str
    run: str
    status: Ending
    score: float | None = None
    message: str = ""
    steps: int = 0
    usage: Usage | None = None
    """None if the run folder cannot be read."""
    score_state: ScoreState = "unscored"
    partial: float | None = None
    """How much of the task is done; see `hisa.outcomes.endings.Scoring`."""
    failure: str = ""
    """Its class; see `hisa.runs.failure_class`."""

    @property
    def scored(self) -> bool:
        """Whether it counts in success rates."""
        return self.score_state == "scored"

    @property
    def usable(self) -> bool:
        """Whether it says something about the agent."""
        return self.scored or self.status not in UNUSABLE

    @property
    def success(self) -> bool:
        """Whether the task is done, wholly."""
        return is_success(self.status, self.score_state, self.score)


def measure(folder: Path, attempt: Attempt, domain: str) -> Measure:
    """Measure a finished attempt.

    Args:
        folder: the bench folder that holds its run.
        attempt: one that ended, as the ledger has it.
        domain: the domain of its task, empty if it has none.
    """
    end_record = attempt.finished
    assert end_record is not None
    try:
        usage = _usage(load_run(folder / RUNS / attempt.run)) if attempt.run else None
    except UsageError:
        usage = None
    return Measure(
        **attempt.slot._asdict(),
        domain=domain,
        run=attempt.run,
        status=end_record.status,
        score=end_record.score,
        score_state=end_record.score_state,
        partial=end_record.partial,
        message=end_record.message,
        steps=end_record.steps,
        usage=usage,
        failure=failure_of(folder / RUNS / attempt.run).kind,
    )


def _usage(run: Run) -> Usage:
    finished_steps = [record for record in run.steps if record.finished is not None]
    kinds = Counter(_kind(record) for record in finished_steps)
    actions = [_actions(record) for record in finished_steps]
    plans = [seconds for record in finished_steps if (seconds := _plan_seconds(record)) is not None]
    return Usage(
        **vars(run.totals),
        **kinds,
        tokens_by_step=tuple(
            sum(call.tokens_in + call.tokens_out for call in record.calls)
            for record in finished_steps
        ),
        actions=sum(map(len, actions)),
        acting_steps=sum(bool(names) for names in actions),
        sequences=Counter(", ".join(names) for names in actions if len(names) > 1),
        plan_seconds=sum(plans),
        planned_steps=len(plans),
        step_seconds=sum(record.seconds for record in finished_steps),
    )


def _actions(record: StepRecord) -> list[str]:
    """Returns the kinds of what a step did, in order; a call of another tool is one action.

    A call that was refused, or whose place was not found, did nothing; a command that failed did
    run, and has an exit status.
    """
    return [
        kind
        for event in record.acts
        if (event.ok or event.exit_code is not None)
        and event.ends is None
        and event.tool not in _ENDING_TOOLS
        for kind in _kinds(event)
    ]


def _kinds(event: Acted) -> list[str]:
    with suppress(ActionRefused):  # a secret was taken out of it
        if event.tool == "gui_action" and isinstance(event.input, str):
            return kinds(parse(event.input)) or [event.tool]
    return [event.tool]


def _plan_seconds(record: StepRecord) -> float | None:
    return None if record.finished is None else record.finished.seconds.get("plan")


def _kind(record: StepRecord) -> str:
    tool = record.planned.tool if record.planned is not None else ""
    return _KINDS.get(tool, "other")
