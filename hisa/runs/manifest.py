"""The manifest of a run, ``run.json``, and the totals that are counted from its events."""

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
    """The task of a run, as plain data."""

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
        """Returns the plain data of a task."""
        return cls.model_validate(task, from_attributes=True)

    def task(self) -> Task:
        """Returns the task."""
        lists = {"setup": tuple(self.setup), "results": tuple(self.results)}
        return Task(**(dict(self) | lists))


class FetchedFile(_Record):
    """A file that was fetched from the machine."""

    path: str
    """Its path on the machine, in printable characters."""
    place: str
    """Its path in the run folder."""
    size: int
    """Its size in bytes."""


class ResultsRecord(_Record):
    """The files that a run made on its machine."""

    since: int | None = None
    """The machine's time when the run began, in nanoseconds since 1970."""
    made: list[str] = []
    """Files of the home folder that were made or changed since then, in printable characters."""
    more: bool = False
    """Whether more files were made than are listed."""
    fetched: list[FetchedFile] = []
    missed: list[str] = []
    """What the task asked for and was not fetched, each with its reason."""


class Totals(_Record):
    """Sums over a run."""

    steps: int = 0
    """Complete steps."""
    seconds: float = 0.0
    """Seconds that the run worked; the time between a crash and a resume is not counted."""
    roles: dict[str, RoleTotals] = {}

    @property
    def tokens(self) -> int:
        """Input and output tokens of all roles."""
        return self.tokens_in + self.tokens_out

    @property
    def tokens_in(self) -> int:
        """Input tokens of all roles."""
        return sum(role.tokens_in for role in self.roles.values())

    @property
    def cached_in(self) -> int:
        """The part of ``tokens_in`` that servers took from their caches."""
        return sum(role.cached_in for role in self.roles.values())

    @property
    def tokens_out(self) -> int:
        """Output tokens of all roles."""
        return sum(role.tokens_out for role in self.roles.values())

    @property
    def usd(self) -> float:
        """Cost of all calls whose price is known, in US dollars."""
        return sum(role.usd for role in self.roles.values())

    @property
    def unpriced(self) -> int:
        """The number of calls whose price is not known."""
        return sum(role.unpriced for role in self.roles.values())

    def add(self, event: Event, previous_at: float) -> None:
        """Count an event; ``previous_at`` is the time of the one before, in seconds since 1970."""
        if not isinstance(event, RunResumed):
            self.seconds += max(0.0, event.at - previous_at)
        if isinstance(event, ModelCalled):
            self.roles.setdefault(event.role, RoleTotals()).add(event)
        elif isinstance(event, StepFinished):
            self.steps += 1


class Manifest(_Record):
    """The content of ``run.json``.

    If it differs from the events, the events are right: after a crash, ``totals`` may lack the
    last step.
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
    """The name of the model of each role."""
    environment: str = ""
    started_at: float
    finished_at: float | None = None
    exit_status: Ending | None = None
    """None while the run goes on, and if it was killed."""
    message: str = ""
    score: float | None = None
    totals: Totals = Totals()
    desktop: dict[str, Any] = {}
    """The handle by which the desktop is found again."""
    resumed: int = 0
    results: ResultsRecord = ResultsRecord()
    score_state: ScoreState = "unscored"
    """Whether there is a score, or why there is none."""
    score_detail: str = ""
    """The reason for the score, or for having none."""
    partial: float | None = None
    """See `hisa.events.Evaluated`."""

    def finish(self, event: RunFinished) -> None:
        """Copy the end of the run from its event."""
        self.finished_at = event.at
        self.exit_status = event.exit_status
        self.message = event.message
        self.score = event.score
        self.score_state = event.score_state
        self.score_detail = event.score_detail
        self.partial = event.partial

    def write(self, path: Path) -> None:
        """Replace the file as a whole: a reader sees the old content or the new one."""
        replace_file(path, self.model_dump_json(indent=1).encode())


def versions() -> dict[str, str]:
    """Returns the versions of HiSA, Python and the platform."""
    return {
        "hisa": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.release()} {platform.machine()}",
    }
