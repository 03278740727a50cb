"""What a run is, on one page: ``run.json``, and the totals that a fold over its events gives."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr

from hisa.events import (
    Chosen,
    Event,
    Judged,
    ModelCalled,
    Planned,
    RunFinished,
    RunResumed,
    StepFinished,
)
from hisa.machine.storage import replace_file
from hisa.models.spending import Totals as RoleTotals
from hisa.outcomes.endings import Ending, ScoreState
from hisa.protocols import Task
from hisa.version import __version__

__all__ = ["MANIFEST_VERSION", "Manifest", "TaskRecord", "Totals", "versions"]

MANIFEST_VERSION = 1


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)


class TaskRecord(_Record):
    """The task as it was given."""

    id: str
    instruction: str
    domain: str = "general"
    setup: list[dict[str, Any]] = []
    check: dict[str, Any] | None = None
    folder: str = ""
    results: list[str] = []
    format: str = ""

    @classmethod
    def of(cls, task: Task) -> TaskRecord:
        """A task's plain data."""
        return cls.model_validate(task, from_attributes=True)

    def task(self) -> Task:
        """The task again."""
        lists = {"setup": tuple(self.setup), "results": tuple(self.results)}
        return Task(**(dict(self) | lists))


class FetchedFile(_Record):
    """A file that was brought home."""

    path: str
    """Where it was on the machine, as it can be printed."""
    place: str
    """Where it is in the run folder."""
    size: int


class ResultsRecord(_Record):
    """What the run made on its machine."""

    since: int | None = None
    """The machine's time when the run began, in nanoseconds since 1970."""
    made: list[str] = []
    """Files of its home folder that were made or changed since, as they can be printed."""
    more: bool = False
    """Whether there are more than are listed."""
    fetched: list[FetchedFile] = []
    missed: list[str] = []
    """What was asked for and not brought home, each with its reason."""


class SamplingTotals(_Record):
    """Sums over the decisions for which several replies were sampled."""

    decisions: int = 0
    samples: int = 0
    agreed: int = 0
    """Decisions whose first samples would all do the same, so that no judge was asked."""
    widened: int = 0
    """Those for which more than the first two were sampled."""
    judged: int = 0
    """Those that a judge made."""
    voted: int = 0
    """Those that no judge decided: what most samples would do was taken."""
    none_good: int = 0
    """Judgements that no candidate is good."""
    invalid: int = 0
    """Answers of a judge that were no judgement."""
    spent: RoleTotals = RoleTotals()
    """Calls of planner and judge up to each decision."""

    @property
    def tokens(self) -> float:
        """Tokens in and out per decision."""
        return self.spent.tokens / max(1, self.decisions)

    def add(self, event: Chosen, spent: RoleTotals) -> None:
        """Count a decision, and what was spent on it."""
        self.decisions += 1
        self.samples += event.samples
        self.agreed += event.by == "agreement"
        self.widened += bool(event.widened)
        self.judged += event.by == "judge"
        self.voted += event.by == "votes"
        self.spent += spent


_DECIDING = ("planner", "judge")
"""Roles that are asked for a decision."""


class Totals(_Record):
    """Sums over a run."""

    steps: int = 0
    """Complete steps."""
    seconds: float = 0.0
    """Time the run was at work; the gap between a crash and a resume is left out."""
    roles: dict[str, RoleTotals] = {}
    sampling: SamplingTotals | None = None
    """None where each step's planner was asked once."""
    _deciding: RoleTotals = PrivateAttr(default_factory=RoleTotals)
    """What was spent since the last decision."""

    @property
    def tokens(self) -> int:
        """Tokens in and out of all roles."""
        return self.tokens_in + self.tokens_out

    @property
    def tokens_in(self) -> int:
        """Of all roles."""
        return sum(role.tokens_in for role in self.roles.values())

    @property
    def cached_in(self) -> int:
        """Of ``tokens_in``: what came from the servers' caches."""
        return sum(role.cached_in for role in self.roles.values())

    @property
    def tokens_out(self) -> int:
        """Of all roles."""
        return sum(role.tokens_out for role in self.roles.values())

    @property
    def usd(self) -> float:
        """Money of all priced calls."""
        return sum(role.usd for role in self.roles.values())

    @property
    def unpriced(self) -> int:
        """Calls whose price is not known."""
        return sum(role.unpriced for role in self.roles.values())

    def add(self, event: Event, previous_at: float) -> None:
        """Count one event that came after another at ``previous_at`` (seconds since 1970)."""
        if not isinstance(event, RunResumed):
            self.seconds += max(0.0, event.at - previous_at)
        if isinstance(event, ModelCalled):
            self.roles.setdefault(event.role, RoleTotals()).add(event)
            if event.role in _DECIDING:
                self._deciding.add(event)
        elif isinstance(event, StepFinished):
            self.steps += 1
        self._add_sampling(event)

    def _add_sampling(self, event: Event) -> None:
        if isinstance(event, Chosen | Judged) and self.sampling is None:
            self.sampling = SamplingTotals()
        if isinstance(event, Judged) and self.sampling is not None:
            self.sampling.invalid += bool(event.invalid)
            self.sampling.none_good += event.index is None and not event.invalid
        elif isinstance(event, Chosen) and self.sampling is not None:
            self.sampling.add(event, self._deciding)
        if isinstance(event, Chosen | Planned | StepFinished):
            self._deciding = RoleTotals()


class Manifest(_Record):
    """The content of ``run.json``.

    The events are the truth: after a crash ``totals`` here may lack the step in flight.
    """

    v: int = MANIFEST_VERSION
    id: str
    task: TaskRecord
    settings: dict[str, Any] = {}
    """The effective settings."""
    versions: dict[str, str] = {}
    prompts: dict[str, str] = {}
    """The beginning of the SHA-256 of each prompt file."""
    seed: int = 0
    models: dict[str, str] = {}
    """Role to model name."""
    environment: str = ""
    started_at: float
    finished_at: float | None = None
    exit_status: Ending | None = None
    """None while the run is at work, and for good where it was killed."""
    message: str = ""
    score: float | None = None
    totals: Totals = Totals()
    desktop: dict[str, Any] = {}
    """What is needed to attach to the desktop again."""
    resumed: int = 0
    results: ResultsRecord = ResultsRecord()
    score_state: ScoreState = "unscored"
    """What ``score`` is."""
    score_detail: str = ""
    """Why the score is what it is, or why there is none."""
    partial: float | None = None
    """See `hisa.events.Evaluated`."""

    def finish(self, event: RunFinished) -> None:
        """Take over how the run ended."""
        self.finished_at = event.at
        self.exit_status = event.exit_status
        self.message = event.message
        self.score = event.score
        self.score_state = event.score_state
        self.score_detail = event.score_detail
        self.partial = event.partial

    def write(self, path: Path) -> None:
        """Replace the file as a whole: a reader sees the old one or the new one."""
        replace_file(path, self.model_dump_json(indent=1).encode())


def versions() -> dict[str, str]:
    """Returns the versions of HiSA, Python and the platform."""
    return {
        "hisa": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.release()} {platform.machine()}",
    }
