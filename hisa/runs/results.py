"""Lists the files that a run made on its machine, and fetches those that the task asks for.

    runs/<id>/files/Documents/hi.txt           from the home folder of the machine's user
    runs/<id>/files/outside-home/etc/hosts     from anywhere else

The machine is not trusted: names are made safe and sizes are limited. No failure here ends a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import re
import sys
from itertools import islice
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, Field, ValidationError

from hisa.errors import EnvironmentFailed
from hisa.hooks import Hook, Run, Step
from hisa.machine.patience import patience
from hisa.machine.storage import PRIVATE_FOLDER, replace_file
from hisa.protocols import Environment, Task
from hisa.runs import listing
from hisa.runs.log import RunLog
from hisa.runs.manifest import FetchedFile, ResultsRecord
from hisa.text.safe_text import safe_name

__all__ = ["FILES", "MAX_FILE", "MAX_TOTAL", "Results"]

FILES = "files"
"""The folder for fetched files inside a run folder."""
MAX_FILE = 100_000_000
"""Most bytes of one fetched file: documents and recordings fit, disk images do not."""
MAX_TOTAL = 500_000_000
"""Most bytes of all fetched files together."""
_SECONDS = 20.0
"""Time-out of a command that reads names; a home of 1000 folders takes under a second."""
_ANSWER_CHARACTERS = 2_000_000  # chosen by hand
_MAX_NAME = 255
"""Most bytes of one part of a path in a file system."""
_ENDING = re.compile(r"(?<=.)(?:\.[\w-]{1,16}){1,2}\Z")
"""Matches the ending of a file name, such as ``.tar.gz``; 16 is for ``.code-workspace``."""


class _File(BaseModel):
    path: str = Field(max_length=4096)
    size: int = Field(ge=0)
    text: bool


class _Files(BaseModel):
    files: tuple[_File, ...] = Field(max_length=listing.MAX_FILES)
    more: bool


class _Answer(BaseModel):
    """What `hisa.runs.listing` prints; a machine may print anything."""

    home: str
    made: _Files
    wanted: dict[str, _Files]


class Results(Hook):
    """Notes the time before the first step of a run, and fetches files at its end.

    Args:
        task: its ``results`` are the files to fetch.
        environment: the machine itself, so that no person is asked before its commands.
        log: the run: its folder gets the files, and its manifest lists them.
        small: most bytes of a file that the run made and that is fetched without being asked for;
            0: no such file is.
    """

    name = "results"

    def __init__(self, task: Task, environment: Environment, log: RunLog, small: int = 0) -> None:
        self._small = small
        self._patterns = task.results
        self._environment = environment
        self._log = log

    async def before_plan(self, step: Step) -> None:
        """Note the machine's time before the first step."""
        if step.number == 1:
            await self.mark()

    async def on_end(self, run: Run) -> None:
        """List and fetch the files."""
        await self.fetch_results()

    async def mark(self) -> None:
        """Note the machine's time: files that are made later were made by the run.

        Only on a machine that is thrown away: on any other the files can still be seen afterwards.
        """
        if not {"throw_away", "execute"} <= self._environment.capabilities:
            return
        result = await self._environment.execute("date +%s%N", timeout=patience(_SECONDS))
        output = result.output.strip()
        if result.exit_code == 0 and output.isdecimal():
            self._log.amend(results=ResultsRecord(since=int(output)))

    async def fetch_results(self) -> None:
        """List the files that were made, fetch those asked for, and record what failed."""
        since = self._log.manifest.results.since
        if since is None and not self._patterns:
            return
        record = ResultsRecord(since=since)
        if not self._log.manifest.totals.steps:  # the files there were made by the setup
            record.missed = [
                f"{safe_name(pattern)}: no step was done" for pattern in self._patterns
            ]
            self._log.amend(results=record)
            return
        try:
            answer = await self._list_files(since)
            record.made = [safe_name(file.path) for file in answer.made.files]
            record.more = answer.made.more
            await self._fetch_all(answer, record)
        except (EnvironmentFailed, OSError) as error:
            record.missed += [f"{safe_name(pattern)}: {error}" for pattern in self._patterns]
        self._log.amend(results=record)

    async def _list_files(self, since: int | None) -> _Answer:
        script = inspect.getsource(listing)
        line = ["python3", "-c", script, json.dumps([since, list(self._patterns)])]
        result = await self._environment.execute(
            line, timeout=patience(_SECONDS), limit=_ANSWER_CHARACTERS
        )
        try:
            return _Answer.model_validate_json(result.output)
        except ValidationError as error:
            why = (
                "took too long"
                if result.timed_out
                else (result.error or result.output)[-200:].strip()
            )
            raise EnvironmentFailed(
                f"the machine cannot list its files: {safe_name(why)}"
            ) from error

    async def _fetch_all(self, answer: _Answer, record: ResultsRecord) -> None:
        left = MAX_TOTAL
        known: set[str] = set()
        for pattern in self._patterns:
            matches = answer.wanted.get(pattern)
            if matches is None or not matches.files:
                record.missed.append(f"{safe_name(pattern)}: not there")
                continue
            if matches.more:
                record.missed.append(
                    f"{safe_name(pattern)}: only {len(matches.files)} of its files"
                )
            for file in matches.files:
                if file.path in known:
                    continue
                known.add(file.path)
                left -= await self._fetch(file, answer.home, record, left=left)
        small = (f for f in answer.made.files if 0 < f.size <= self._small and f.path not in known)
        unasked = ResultsRecord()  # if one of these cannot be fetched, it is not reported
        for file in islice(small, 8):  # chosen by hand
            left -= await self._fetch(file, answer.home, unasked, left=left)
        record.fetched += unasked.fetched

    async def _fetch(self, file: _File, home: str, record: ResultsRecord, *, left: int) -> int:
        """Fetch one file; returns its size in bytes, 0 if it was not fetched."""
        name, limit = safe_name(file.path), min(left, MAX_FILE)
        if not file.text:
            record.missed.append(f"{name}: its name is no text")
            return 0
        if file.size > limit:
            record.missed.append(f"{name}: {file.size} bytes, but at most {limit} are fetched")
            return 0
        try:
            data = await self._environment.read_file(file.path, limit=limit)
            place = _place(file.path, home)
            await asyncio.to_thread(_write, self._log.folder / place, data)
        except OSError as error:  # also for a name that cannot be sent, or is too long for the disk
            record.missed.append(f"{name}: {error.strerror or error}")
            return 0
        record.fetched.append(FetchedFile(path=name, place=str(place), size=len(data)))
        return len(data)


def _place(path: str, home: str) -> Path:
    """Returns the path for a file of the machine, relative to the run folder and never outside."""
    pure, base = PurePosixPath(path), PurePosixPath(home)
    inside = pure.is_relative_to(base)
    parts = pure.relative_to(base).parts if inside else ("outside-home", *pure.parts)
    safe_parts = [_safe(part) for part in parts if part not in ("/", "//", "..", ".", "")]
    return Path(FILES, *safe_parts) if safe_parts else Path(FILES, "unnamed")


def _safe(part: str) -> str:
    """Returns a name that is safe for disk and terminal; a changed name gets a hash."""
    encoding = sys.getfilesystemencoding()
    name = safe_name(part).replace("\\", "_").encode(encoding, "replace")
    if name.decode(encoding) == part and len(name) <= _MAX_NAME:
        return part
    digest = hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    match = _ENDING.search(name.decode(encoding))
    ending = match[0] if match else ""
    size = len(ending.encode(encoding))
    stem = name[: min(len(name) - size, _MAX_NAME - size - len(f"-{digest}"))]
    return f"{stem.decode(encoding, 'ignore')}-{digest}{ending}"


def _write(path: Path, data: bytes) -> None:
    """Write a file as a whole, readable only by this user."""
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    replace_file(path, data)
