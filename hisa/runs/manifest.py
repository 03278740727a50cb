"""What a run is, on one page: ``run.json``, and the totals that a fold over its events gives."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from hisa.events import (
    Event,
    ModelCalled,
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


class Totals(_Record):
    """Sums over a run."""

    steps: int = 0
    """Complete steps."""
    seconds: float = 0.0
    """Time the run was at work; the gap between a crash and a resume is left out."""
    roles: dict[str, RoleTotals] = {}

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
        elif isinstance(event, StepFinished):
            self.steps += 1


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
