"""The record of several attempts at one task, beside their runs.

    runs/best-<id>/attempts.json   the task, the attempts' runs, and which is taken and why
    runs/best-<id>/events.jsonl    what the judge was sent and what it answered, as in a run's log
    runs/<run id>/                 each attempt, as any run

How an attempt ended is read from its own log; the record only repeats it. No score is in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from hisa.errors import LogFailed, UsageError
from hisa.events import Event, ModelAsked
from hisa.machine.storage import PRIVATE_FOLDER, AppendOnlyFile, replace_file
from hisa.models.spending import Ledger, Totals
from hisa.outcomes.endings import RunStatus
from hisa.plugins.benchmarks.attempts.best_run import MOST, Choice
from hisa.protocols import Task
from hisa.runs.event_line import encode
from hisa.runs.log import key_variables, new_id
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import EVENTS, Run, load_run, read_events
from hisa.text.redact import Redactor

__all__ = ["AttemptGroup", "AttemptRecord", "GroupRecord", "check_number"]

RECORD = "attempts.json"
_OPEN = ("running", "unfinished", "stopped", "refused", "defect")
"""Ends that say nothing of the attempt: nobody knows what it would have come to."""


class AttemptRecord(BaseModel):
    """One run of the task."""

    number: int
    """Which attempt it is, from 1."""
    run: str
    status: RunStatus = "running"


class GroupRecord(BaseModel):
    """The content of ``attempts.json``."""

    v: int = 1
    id: str
    task: TaskRecord
    settings: dict[str, Any] = {}
    attempts: int
    """How many were asked for."""
    runs: list[AttemptRecord] = []
    choice: Choice | None = None
    """None until one is taken, or it is known that none is."""
    judge: str = ""
    """The judge's name; empty where none was asked."""
    judging: Totals = Totals()
    """Tokens and money of all calls of the judge."""
    started_at: float
    finished_at: float | None = None


class AttemptGroup:
    """Several attempts at one task; use `create`, and close it (a context manager).

    Args:
        folder: its own.
        record: what is known so far.
    """

    def __init__(self, folder: Path, record: GroupRecord) -> None:
        self.folder = folder
        self.record = record
        self._redactor = Redactor(variables=key_variables(record.settings))
        self._file: AppendOnlyFile | None = None

    @classmethod
    def create(
        cls, root: Path, task: Task, attempts: int, *, settings: Mapping[str, Any] | None = None
    ) -> Self:
        """Start a record in a new folder under ``root``, the folder of all runs.

        Raises:
            UsageError: the folder cannot be made, or so many attempts are not possible.
        """
        check_number(attempts)
        record = GroupRecord(
            id=f"best-{new_id()}",
            task=TaskRecord.of(task),
            settings=dict(settings or {}),
            attempts=attempts,
            started_at=time.time(),
        )
        folder = root / record.id
        try:
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
        except OSError as error:
            raise UsageError(
                f"cannot make {str(folder)!r}: {error.strerror}",
                fix="choose another folder: --set run.folder=FOLDER",
            ) from error
        group = cls(folder, record)
        group._write()
        return group

    @property
    def root(self) -> Path:
        """Returns the folder of all runs."""
        return self.folder.parent

    def begin(self, number: int, run: str) -> None:
        """Write down that a run is made for an attempt, before its first step."""
        self.record.runs.append(AttemptRecord(number=number, run=run))
        self._write()

    def end(self, number: int) -> RunStatus:
        """Write down how an attempt's run ended; returns it."""
        attempt = self.record.runs[number - 1]
        attempt.status = self._status(attempt)
        self._write()
        return attempt.status

    def ended_runs(self) -> list[Run]:
        """Reads the run of each attempt that ended, in the order of their numbers."""
        ended = (attempt for attempt in self.record.runs if attempt.status not in _OPEN)
        return [load_run(self.root / attempt.run) for attempt in ended]

    def emit(self, event: Event, /) -> None:
        """Append an event of the judging, without its secrets.

        A request, which is bounded where it is made, stands there whole; a run's log would cut it.

        Raises:
            LogFailed: the disk refuses it.
        """
        event = self._redactor.data(event)
        whole = isinstance(event, ModelAsked)
        line = event.model_dump_json().encode() + b"\n" if whole else encode(event)
        try:
            if self._file is None:
                self._file = AppendOnlyFile(self.folder / EVENTS)
            self._file.append(line)
        except OSError as error:
            raise self._refused(EVENTS, error) from error

    def decide(self, choice: Choice, *, judge: str = "") -> None:
        """Write down which attempt is taken, and what judging cost so far."""
        self.record.choice = choice
        self.record.judge = judge
        self.record.judging = self.ledger.total
        self.record.finished_at = time.time()
        self._write()

    @property
    def ledger(self) -> Ledger:
        """Reads what judging cost so far."""
        return Ledger.from_events(read_events(self.folder / EVENTS))

    def close(self) -> None:
        """Release the files; may be called twice."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _status(self, attempt: AttemptRecord) -> RunStatus:
        """Reads from its own log how a run ended; one that is gone is unfinished."""
        try:
            return load_run(self.root / attempt.run).status
        except UsageError:
            return "unfinished"

    def _write(self) -> None:
        content = self._redactor.data(self.record).model_dump_json(indent=1).encode()
        try:
            replace_file(self.folder / RECORD, content)
        except OSError as error:
            raise self._refused(RECORD, error) from error

    def _refused(self, name: str, error: OSError) -> LogFailed:
        return LogFailed(
            f"cannot write {self.folder / name}: {error.strerror or error}",
            fix="free some space",
        )


def check_number(attempts: int) -> None:
    """Refuse a number of attempts that cannot be compared.

    Raises:
        UsageError: it is not from 1 to `MOST`.
    """
    if not 1 <= attempts <= MOST:
        raise UsageError(
            f"{attempts} attempts: from 1 to {MOST} can be compared", fix="--attempts 4"
        )
