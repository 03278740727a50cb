"""Follows the log of a run that is at work, reading only what was added."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError

from hisa.events import (
    ModelCalled,
    Observed,
    PersonActed,
    RunFinished,
    RunResumed,
    StepFinished,
    event_adapter,
)
from hisa.runs.read import EVENTS, read_manifest

__all__ = ["RunTail"]

_TYPE = re.compile(
    rb'"type":"(observed|step_finished|model_called|person_acted|run_finished|run_resumed)"'
)
_HEAD = 200
"""Bytes of a line in which its type stands: no other line is parsed."""
_CHUNK = 1 << 22
_LONGEST = 1 << 24
"""Bytes of a line that are kept while its end is not written; HiSA's own are far shorter."""
_STATES = {"paused": "paused", "took_over": "held"}


class RunTail:
    """Keeps up with one run's log; call `update` from one thread at a time.

    ``step`` is the last complete one, ``usd`` the sum of the calls whose price is known (and
    ``priced`` whether there was any), ``state`` "running", "paused", "held" or an exit status, and
    ``picture`` the hash of the newest look's.

    Args:
        folder: the run's.

    Raises:
        UsageError: its manifest cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        self.folder = folder
        self.id = folder.name
        self.task = manifest.task.id
        self.instruction = manifest.task.instruction
        self.started = manifest.started_at
        self.step, self.usd, self.state, self.picture = 0, 0.0, "running", ""
        self.priced = False
        self._offset = 0
        self._rest = b""

    def update(self) -> bool:
        """Takes in what was added to the log; returns whether any of the facts may have changed."""
        path = self.folder / EVENTS
        try:
            if path.stat().st_size == self._offset:
                return False
            changed = False
            with path.open("rb") as file:
                file.seek(self._offset)
                while chunk := file.read(_CHUNK):
                    self._offset += len(chunk)
                    changed |= self._take(chunk)
        except OSError:
            return False
        return changed

    def _take(self, chunk: bytes) -> bool:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _LONGEST:
            self._rest = b""
        counts = [self._count(line) for line in lines if _TYPE.search(line, 0, _HEAD)]
        return any(counts)

    def _count(self, line: bytes) -> bool:
        try:
            event = event_adapter.validate_json(line)
        except ValidationError:
            return False
        match event:
            case Observed():
                self.picture = event.image
            case StepFinished():
                self.step = max(self.step, event.step)
            case ModelCalled():
                self.usd += event.usd or 0.0
                self.priced |= event.usd is not None
            case PersonActed():
                self.state = _STATES.get(event.did, "running" if event.did != "acted" else "held")
            case RunFinished():
                self.state = event.exit_status
            case RunResumed():
                self.state = "running"
            case _:
                return False
        return True
