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
from typing import Any, Literal, Self

from pydantic import BaseModel

from hisa.errors import LogFailed, UsageError
from hisa.events import Event, ModelAsked
from hisa.machine.storage import PRIVATE_FOLDER, AppendOnlyFile, replace_file
from hisa.models.spending import Ledger, Totals
from hisa.outcomes.endings import RunStatus
from hisa.protocols import Task
from hisa.runs.event_line import encode
from hisa.runs.log import key_variables, new_id
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import EVENTS, Run, load_run, read_events
from hisa.text.redact import Redactor

__all__ = ["MOST", "AttemptGroup", "AttemptRecord", "Choice", "GroupRecord", "check_number"]

MOST = 8
"""Attempts at one task: more would leave each of them too few tokens in the judge's request."""
RECORD = "attempts.json"
_OPEN = ("running", "unfinished", "stopped", "refused", "defect")
"""Ends that say nothing of the attempt: nobody knows what it would have come to."""


class Choice(BaseModel):
    """Which attempt is taken, and by what."""

    run: str | None = None
    """The id of its run; None: none is taken."""
    by: Literal["judge", "facts", "alone", "nobody"]
    """judge: a model picked it; facts: without a judge, it alone said that it succeeded; alone: it
    was the only candidate; nobody: none is taken."""
    why: str
    """In one or two sentences, the judge's where it picked."""
    order: tuple[str, ...] = ()
    """The ids of the runs in the order in which the judge was shown them."""


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
    """Several attempts at one task; see `create`.

    Args:
        folder: its own.
        record: what is known so far.
    """

    def __init__(self, folder: Path, record: GroupRecord) -> None:
        self.folder = folder
        self.record = record
        self._redactor = Redactor(variables=key_variables(record.settings))

    @classmethod
    def create(
        cls, root: Path, task: Task, attempts: int, *, settings: Mapping[str, Any] | None = None
    ) -> Self:
        """Start a record in a new folder under ``root``, the folder of all runs.

        Raises:
            LogFailed: the folder cannot be made or written to.
        """
        record = GroupRecord(
            id=f"best-{new_id()}",
            task=TaskRecord.of(task),
            settings=dict(settings or {}),
            attempts=attempts,
            started_at=time.time(),
        )
        group = cls(root / record.id, record)
        try:
            group.folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
        except OSError as error:
            raise group._refused(error) from error
        group._write()
        return group

    def begin(self, number: int, run: str) -> None:
        """Write down that a run is made for an attempt, before its first step."""
        self.record.runs.append(AttemptRecord(number=number, run=run))
        self._write()

    def end(self, number: int) -> RunStatus:
        """Write down how an attempt's run ended; returns it. One that is gone is unfinished."""
        attempt = self.record.runs[number - 1]
        try:
            attempt.status = load_run(self.folder.parent / attempt.run).status
        except UsageError:
            attempt.status = "unfinished"
        self._write()
        return attempt.status

    def ended_runs(self) -> list[Run]:
        """Reads the run of each attempt that ended, in the order of their numbers."""
        ended = (attempt for attempt in self.record.runs if attempt.status not in _OPEN)
        return [load_run(self.folder.parent / attempt.run) for attempt in ended]

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
            file = AppendOnlyFile(self.folder / EVENTS)
            try:
                file.append(line)
            finally:
                file.close()
        except OSError as error:
            raise self._refused(error) from error

    def decide(self, choice: Choice, *, judge: str = "") -> None:
        """Write down which attempt is taken, and what judging cost."""
        self.record.choice = choice
        self.record.judge = judge
        self.record.judging = Ledger.from_events(read_events(self.folder / EVENTS)).total
        self.record.finished_at = time.time()
        self._write()

    def _write(self) -> None:
        content = self._redactor.data(self.record).model_dump_json(indent=1).encode()
        try:
            replace_file(self.folder / RECORD, content)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> LogFailed:
        return LogFailed(
            f"cannot write {self.folder}: {error.strerror or error}",
            fix="free some space, or choose another folder: --set run.folder=FOLDER",
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
