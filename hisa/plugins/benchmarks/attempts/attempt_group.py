"""The record of several attempts at one task, beside their runs; it survives a kill at any moment.

    runs/best-<id>/attempts.json   the task, the attempts' runs, and which is taken and why
    runs/best-<id>/events.jsonl    what the judge was sent and what it answered, as in a run's log
    runs/best-<id>/lock            held by the one process that goes on with it
    runs/<run id>/                 each attempt, as any run

How an attempt ended is read from its own log; the record only repeats it. No score is in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from hisa.errors import LogFailed, UsageError
from hisa.events import Event, ModelAsked
from hisa.machine.storage import PRIVATE_FOLDER, AppendOnlyFile, Lock, replace_file
from hisa.models.spending import Ledger, Totals
from hisa.outcomes.endings import RunStatus
from hisa.plugins.benchmarks.attempts.best_run import BROKEN, MOST, Choice
from hisa.protocols import Task
from hisa.runs.event_line import encode
from hisa.runs.log import key_variables, new_id
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import EVENTS, LOCK, Run, command_in, command_on, load_run, read_events
from hisa.text.redact import REDACTED, Redactor, holds_redacted

__all__ = ["AttemptGroup", "AttemptRecord", "GroupRecord", "check_number", "find_group"]

RECORD = "attempts.json"
_PREFIX = "best-"
_OPEN = ("running", "unfinished", "stopped", "refused", "defect")
"""Ends after which an attempt is made again: nobody knows what it would have come to."""


class AttemptRecord(BaseModel):
    """One run of the task."""

    number: int
    """Which attempt it is, from 1; one that was cut off is made again under its number."""
    run: str
    status: RunStatus = "running"


class GroupRecord(BaseModel):
    """The content of ``attempts.json``."""

    model_config = ConfigDict(extra="ignore")
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
    """Several attempts at one task; use `create` or `reopen`, and close it (a context manager).

    Args:
        folder: its own.
        record: what is known so far.
        lock: held on it.
    """

    def __init__(self, folder: Path, record: GroupRecord, lock: Lock) -> None:
        self.folder = folder
        self.record = record
        self._lock = lock
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
            id=_PREFIX + new_id(),
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
        group = cls(folder, record, _locked(folder))
        group._write()
        return group

    @classmethod
    def reopen(cls, folder: Path) -> Self:
        """Go on with attempts that were stopped or killed, or of which none was taken.

        Attempts whose machine or model broke are made again only where no attempt was taken.

        Raises:
            UsageError: no record, a living process holds it, one attempt is taken already, or a
                secret was taken out of what is needed to go on.
        """
        record = _read(folder)
        if record.choice is not None and record.choice.run is not None:
            raise UsageError(
                f"of {record.id!r} an attempt is taken already: {record.choice.run}",
                fix=command_on(folder.parent / record.choice.run, "report"),
            )
        if holds_redacted([record.task.model_dump(), record.settings]):
            raise UsageError(
                f"{record.id!r} cannot go on: its task or its settings held a secret, and a "
                f"record keeps no secrets ({REDACTED} stands there)",
                fix="start the task again with hisa run",
            )
        group = cls(folder, record, _locked(folder))
        for attempt in record.runs:
            attempt.status = group._status(attempt)
        if record.choice is not None:
            record.runs = [attempt for attempt in record.runs if attempt.status not in BROKEN]
            record.choice = None
        group._write()
        return group

    @property
    def root(self) -> Path:
        """Returns the folder of all runs."""
        return self.folder.parent

    @property
    def due(self) -> list[int]:
        """Returns the numbers of the attempts that have no end yet."""
        ended = {attempt.number for attempt in self._ended}
        return [number for number in range(1, self.record.attempts + 1) if number not in ended]

    def begin(self, number: int, run: str) -> None:
        """Write down that a run is made for an attempt, before its first step."""
        self.record.runs.append(AttemptRecord(number=number, run=run))
        self._write()

    def end(self, number: int) -> RunStatus:
        """Write down how the newest run of an attempt ended; returns it."""
        *_, attempt = (each for each in self.record.runs if each.number == number)
        attempt.status = self._status(attempt)
        self._write()
        return attempt.status

    def ended_runs(self) -> list[Run]:
        """Reads the run of each attempt that ended, in the order of their numbers."""
        newest = {attempt.number: attempt.run for attempt in self._ended}
        return [load_run(self.root / newest[number]) for number in sorted(newest)]

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
        """Reads what judging cost so far, calls before a kill included."""
        return Ledger.from_events(read_events(self.folder / EVENTS))

    def close(self) -> None:
        """Release the files; may be called twice."""
        if self._file is not None:
            self._file.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def _ended(self) -> list[AttemptRecord]:
        return [attempt for attempt in self.record.runs if attempt.status not in _OPEN]

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
            fix=f"free some space, then: {command_on(self.folder)}",
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


def find_group(name: str, root: Path) -> Path:
    """Returns the folder of attempts named by their id or the beginning of it.

    Raises:
        UsageError: none or several fit.
    """
    known = sorted(path.parent for path in root.glob(f"{_PREFIX}*/{RECORD}"))
    found = [folder for folder in known if folder.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} records of attempts begin with" if found else "no attempts are called"
    near = ", ".join(folder.name for folder in (found or known)[-5:]) or "none"
    raise UsageError(
        f"{what} {name!r} in {str(root)!r}; there are: {near}", fix=f"ls -d {root}/{_PREFIX}*"
    )


def _read(folder: Path) -> GroupRecord:
    path = folder / RECORD
    try:
        return GroupRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        fix = command_in(folder.parent, "ls")
        raise UsageError(f"{str(path)!r} cannot be read: {why}", fix=fix) from error


def _locked(folder: Path) -> Lock:
    lock = Lock.take(folder / LOCK)
    if lock is None:
        raise UsageError(
            f"{folder.name!r} is at work in a living process (pid {Lock.holder(folder / LOCK)})",
            fix="wait for it or stop it",
        )
    return lock
