"""The record of several attempts at one task, beside their runs, once one of them was chosen.

    runs/best-<id>/attempts.json   the attempts' runs, and which is taken and why
    runs/best-<id>/events.jsonl    what the judge was sent and what it answered, as in a run's log
    runs/<run id>/                 each attempt, as any run

It holds no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from hisa.errors import LogFailed
from hisa.events import Event, ModelAsked
from hisa.machine.storage import PRIVATE_FOLDER, AppendOnlyFile, replace_file
from hisa.models.spending import Ledger, Totals
from hisa.runs.event_line import encode
from hisa.runs.log import key_variables, new_id
from hisa.runs.run_reader import EVENTS, Run
from hisa.text.redact import Redactor

__all__ = ["AttemptGroup", "Choice", "Judging"]

RECORD = "attempts.json"


class Choice(BaseModel):
    """Which attempt is taken, and by what."""

    run: str | None = None
    """The id of its run; None: none is taken."""
    by: Literal["judge", "facts", "alone", "nobody"]
    """judge: a model picked it; facts: the judge did not decide, and it alone said that it
    succeeded; alone: it was the only candidate; nobody: none is taken."""
    why: str
    """One or two sentences; the judge's own if it picked the attempt."""
    order: tuple[str, ...] = ()
    """The ids of the runs in the order in which the judge was shown them."""


class AttemptGroup(BaseModel):
    """The content of ``attempts.json``."""

    v: int = 1
    id: str
    runs: tuple[str, ...]
    """The ids of the attempts' runs, in the order in which they were made."""
    choice: Choice
    judge: str = ""
    """The judge's name; empty if none was asked."""
    judging: Totals = Totals()
    """Tokens and money of all calls of the judge."""


class Judging:
    """Records what is asked and chosen about some runs in a folder beside them, without secrets.

    Args:
        runs: the attempts; there is at least one.

    Raises:
        LogFailed: the folder cannot be made or written to; `emit` and `keep` raise it too.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(run.id for run in runs)
        self.folder: Path = runs[0].folder.parent / f"best-{new_id()}"
        self._ledger = Ledger()
        self._redactor = Redactor(variables=key_variables(runs[0].manifest.settings))
        try:
            self.folder.mkdir(mode=PRIVATE_FOLDER)
        except OSError as error:
            raise self._build_error(error) from error

    def emit(self, event: Event, /) -> None:
        """Append an event.

        A request is written whole, since its size is limited where it is built; a run's log would
        cut it.
        """
        self._ledger.add(event)
        event = self._redactor.data(event)
        is_request = isinstance(event, ModelAsked)
        line = event.model_dump_json().encode() + b"\n" if is_request else encode(event)
        try:
            file = AppendOnlyFile(self.folder / EVENTS)
            try:
                file.append(line)
            finally:
                file.close()
        except OSError as error:
            raise self._build_error(error) from error

    def keep(self, choice: Choice, judge: str) -> AttemptGroup:
        """Write down which attempt is taken, and what judging cost."""
        group = AttemptGroup(
            id=self.folder.name,
            runs=self._runs,
            choice=choice,
            judge=judge,
            judging=self._ledger.total,
        )
        content = self._redactor.data(group).model_dump_json(indent=1).encode()
        try:
            replace_file(self.folder / RECORD, content)
        except OSError as error:
            raise self._build_error(error) from error
        return group

    def _build_error(self, error: OSError) -> LogFailed:
        return LogFailed(
            f"cannot write {self.folder}: {error.strerror or error}",
            fix="free some space, or choose another folder: --set run.folder=FOLDER",
        )
