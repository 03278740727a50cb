"""The append-only record of a bench's attempts: what is done, and what is left to do."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from hisa.config import read_stored
from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.storage import AppendOnlyFile, Lock, replace_file
from hisa.outcomes.endings import says_nothing
from hisa.plugins.benchmarks.bench.attempt_records import (
    AttemptFinished,
    AttemptLost,
    AttemptRecord,
    AttemptRunning,
    AttemptStarted,
    Plan,
    Slot,
    record_adapter,
)

__all__ = ["MAX_TRIES", "Attempt", "AttemptLedger", "SlotState", "read_attempts", "read_plan"]

ATTEMPTS = "attempts.jsonl"
PLAN = "bench.json"
RUNS = "runs"
MAX_TRIES = 3
"""Tries after which a slot whose machine, worker or first step keeps failing is given up."""


@dataclass
class Attempt:
    """One try at a slot: open, finished or lost."""

    slot: Slot
    number: int
    worker: str = ""
    run: str = ""
    started_at: float = 0.0
    finished: AttemptFinished | None = None
    lost: AttemptLost | None = None

    @property
    def open(self) -> bool:
        """Whether it has not ended yet."""
        return self.finished is None and self.lost is None

    @property
    def broken(self) -> bool:
        """Whether a machine or a worker broke in it, or it ended before its first step.

        A bench that was stopped broke nothing.
        """
        if self.lost is not None and self.lost.cause == "again":
            return False
        if self.finished is not None:
            return says_nothing(self.finished.status, self.finished.steps)
        return self.lost is not None and self.lost.cause == "worker"

    @property
    def counts(self) -> bool:
        """Whether it is a result of its slot."""
        if self.finished is None or self.lost is not None:
            return False
        return self.finished.status != "stopped" and not self.broken


@dataclass
class SlotState:
    """All tries of one slot."""

    slot: Slot
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def result(self) -> Attempt | None:
        """The attempt that counts: the first that is a result."""
        return next((attempt for attempt in self.attempts if attempt.counts), None)

    @property
    def given_up(self) -> bool:
        """Whether it broke too often to be tried again."""
        broken = sum(attempt.broken for attempt in self.attempts)
        return self.result is None and broken >= MAX_TRIES

    @property
    def pending(self) -> bool:
        """Whether it needs another try."""
        return self.result is None and not self.given_up


class _Book:
    """Folds records into slot states; those of one try come in order, whichever its worker."""

    def __init__(self) -> None:
        self.slot_states: dict[Slot, SlotState] = {}

    def take(self, record: AttemptRecord) -> None:
        slot_state = self.slot_states.setdefault(record.slot, SlotState(record.slot))
        if isinstance(record, AttemptStarted):
            slot_state.attempts.append(
                Attempt(record.slot, record.number, record.worker, started_at=record.at)
            )
            return
        attempt = next((a for a in slot_state.attempts if a.number == record.number), None)
        again = isinstance(record, AttemptLost) and record.cause == "again"
        if attempt is None or not (attempt.open or again):
            return
        match record:
            case AttemptRunning():
                attempt.run = record.run
            case AttemptFinished():
                attempt.run = record.run or attempt.run
                attempt.finished = record
            case AttemptLost():
                attempt.lost = record


def read_attempts(folder: Path) -> dict[Slot, SlotState]:
    """Returns the slot states of a bench folder; a last line that was cut off does not count."""
    book = _Book()
    for record in _records(folder / ATTEMPTS):
        book.take(record)
    return book.slot_states


def _records(path: Path) -> Iterable[AttemptRecord]:
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield record_adapter.validate_json(line)
            except ValidationError as error:
                raise UsageError(
                    f"{path} line {number}: not a record of an attempt: {error.errors()[0]['msg']}",
                    fix="repair the line, or give another --out",
                ) from error


def read_plan(folder: Path) -> Plan:
    """Read the plan of a bench folder.

    Raises:
        UsageError: it is no bench folder, or its plan is damaged.
    """
    path = folder / PLAN
    try:
        return Plan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{str(folder)!r} is not a bench folder: {PLAN}: {error.strerror}",
            fix=f"hisa bench run own:DIR --out {folder}",
        ) from error
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise UsageError(f"{str(path)!r} is damaged: {message}", fix="use another --out") from error


class AttemptLedger:
    """The ledger of one bench folder; one process at a time writes it.

    Args:
        folder: the bench folder; made if it is missing.
        plan: what is run. A bench that was begun in the folder is continued: its plan must be the
            same, except for the number of repeats.

    Raises:
        UsageError: another process writes it, or it was begun with another plan.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
        self._lock = _take_lock(folder)
        try:
            self.plan = _settle_plan(folder, plan)
            self._file = AppendOnlyFile(folder / ATTEMPTS, mode=0o644)
            self._book = _Book()
            for record in _records(folder / ATTEMPTS):
                self._book.take(record)
        except BaseException:
            self._lock.release()
            raise
        self._bury()

    @property
    def runs(self) -> Path:
        """The folder that holds the run folders."""
        return self.folder / RUNS

    def slot_state(self, slot: Slot) -> SlotState:
        """Returns all tries of a slot so far."""
        return self._book.slot_states.get(slot) or SlotState(slot)

    def pending(self) -> list[Slot]:
        """Returns the slots that need another try, in the plan's order."""
        return [slot for slot in self.plan.slots if self.slot_state(slot).pending]

    def next_try(self, slot: Slot) -> int:
        """Returns the number of a slot's next try."""
        return len(self.slot_state(slot).attempts) + 1

    def write(self, record: AttemptRecord) -> None:
        """Append a record; it is with the operating system on return.

        Raises:
            EnvironmentFailed: the disk refuses it.
        """
        line = (record.model_dump_json(by_alias=True) + "\n").encode()
        try:
            self._file.append(line)
        except OSError as error:
            raise EnvironmentFailed(
                f"cannot write {self.folder / ATTEMPTS}: {error.strerror or error}", fix="df -h"
            ) from error
        self._book.take(record)

    def again(self, statuses: Collection[str]) -> int:
        """Make slots pending again whose result has one of these statuses.

        A slot that was given up becomes pending if one of its tries ended so, and for
        "environment_error". The old attempts are kept, and marked as lost.

        Args:
            statuses: of `hisa.outcomes.endings.Ending` and `hisa.outcomes.endings.ScoreState`.

        Returns:
            The number of slots that became pending.
        """
        count = 0
        for slot in self.plan.slots:
            slot_state = self.slot_state(slot)
            broke = {attempt.finished.status for attempt in slot_state.attempts if attempt.finished}
            given_up = slot_state.given_up and {"environment_error", *broke} & set(statuses)
            result = slot_state.result
            finished = result.finished if result else None
            end_status = finished.status if finished else ""
            is_chosen = finished and {finished.status, finished.score_state} & set(statuses)
            if not given_up and not is_chosen:
                continue
            count += 1
            for attempt in slot_state.attempts if given_up else [result]:
                if attempt is not None:
                    self._lose(
                        attempt, "again", f"made again after {end_status or 'it was given up'}"
                    )
        return count

    def close(self) -> None:
        """Close the file and release the lock, so that another process can write."""
        self._file.close()
        self._lock.release()

    def _bury(self) -> None:
        """Record as lost the attempts that were in flight when the bench last ended."""
        for slot_state in list(self._book.slot_states.values()):
            for attempt in slot_state.attempts:
                if attempt.open:
                    self._lose(attempt, "bench", "the bench ended before it did")

    def _lose(self, attempt: Attempt, cause: Literal["bench", "again"], reason: str) -> None:
        key: dict[str, Any] = {**attempt.slot._asdict(), "try": attempt.number}
        self.write(AttemptLost(**key, cause=cause, reason=reason))


def _take_lock(folder: Path) -> Lock:
    lock = Lock.take(folder / "lock")
    if lock is None:
        raise UsageError(
            f"process {Lock.holder(folder / 'lock')} runs the bench in {str(folder)!r}",
            fix="wait for it, or give another --out",
        )
    return lock


def _settle_plan(folder: Path, plan: Plan) -> Plan:
    """Returns the plan of the folder, which it stores: the one begun there, with more repeats."""
    path = folder / PLAN
    if path.exists():
        stored_plan = _as_of_now(read_plan(folder))
        differs = [
            name
            for name in ("suite", "variants", "tasks", "independent")
            if getattr(stored_plan, name) != getattr(plan, name)
        ]
        if differs:
            raise UsageError(
                f"{str(folder)!r} holds a bench with other {', '.join(differs)}",
                fix="give another --out, or the command that began it",
            )
        plan = stored_plan.model_copy(update={"repeat": max(stored_plan.repeat, plan.repeat)})
    replace_file(path, plan.model_dump_json(indent=1).encode(), mode=0o644)
    return plan


def _as_of_now(plan: Plan) -> Plan:
    """Returns the plan without settings that were since removed, and with those added since."""
    trees = plan.variants.items()
    variants = {name: read_stored(tree).model_dump(mode="json") for name, tree in trees}
    return plan.model_copy(update={"variants": variants})
