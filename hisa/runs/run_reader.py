"""Reads a run, whatever state it was left in. Nothing in it is ever executed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from hisa.errors import UsageError, close_names
from hisa.events import (
    Evaluated,
    Event,
    Failed,
    Guidance,
    Induced,
    RunFinished,
    RunResumed,
    StepFinished,
    event_adapter,
)
from hisa.machine.storage import is_locked, replace_file
from hisa.outcomes.endings import RunStatus, ScoreState, Scoring, is_success
from hisa.runs.manifest import Manifest, Totals
from hisa.runs.step_records import StepRecord, group
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot

__all__ = [
    "EventReader",
    "Run",
    "command_in",
    "command_on",
    "find_run",
    "list_runs",
    "load_run",
    "read_events",
    "read_manifest",
]

EVENTS = "events.jsonl"
ELEMENTS = "elements"
IMAGES = "images"
LOCK = "lock"
MANIFEST = "run.json"
TOKENS = "tokens"

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class EventReader(Iterator[Event]):
    """Yields the events of a log.

    ``skipped`` counts the lines that are not a known event (written by a newer or older version, or
    damaged). ``torn`` says whether the last line is incomplete.
    """

    def __init__(self, path: Path) -> None:
        self.skipped = 0
        self.torn = False
        self._events = self._read(path)

    def __next__(self) -> Event:
        return next(self._events)

    def _read(self, path: Path) -> Iterator[Event]:
        if not path.exists():
            return
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    self.torn = True
                    return
                try:
                    event = event_adapter.validate_json(line)
                except ValidationError:
                    self.skipped += 1
                    continue
                yield event


def read_events(path: Path) -> EventReader:
    """Returns the events of an ``events.jsonl``, or of the run folder that contains one."""
    return EventReader(path / EVENTS if path.is_dir() else path)


@dataclass(frozen=True)
class Run:
    """A run as it is on disk: its manifest, its events, and views of them."""

    folder: Path
    manifest: Manifest
    events: tuple[Event, ...]
    skipped: int = 0
    torn: bool = False
    running: bool = False

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.manifest.id

    @property
    def status(self) -> RunStatus:
        """The exit status; "running" or "unfinished" if the run has not ended."""
        ended = self._end_event
        if ended is not None:
            return ended.exit_status
        return "running" if self.running else "unfinished"

    @property
    def ended(self) -> bool:
        """Whether the run has ended; learning from it may still go on."""
        return self._end_event is not None

    @property
    def message(self) -> str:
        """The reason why the run ended; empty if it has not."""
        return "" if self._end_event is None else self._end_event.message

    @property
    def score(self) -> float | None:
        """The score, 0 to 1; None if there is none, see ``scoring``."""
        return self.scoring.value

    @property
    def score_state(self) -> ScoreState:
        """Whether there is a score, or why there is none."""
        return self.scoring.state

    @property
    def success(self) -> bool:
        """See `hisa.outcomes.endings.is_success`."""
        return is_success(self.status, self.score_state, self.score)

    @cached_property
    def scoring(self) -> Scoring:
        """The score, or why there is none, since the run was started or last resumed."""
        scoring = Scoring("unscored")
        for event in reversed(self.events):
            match event:
                case RunFinished():
                    scoring = Scoring(
                        event.score_state, event.score, event.score_detail, partial=event.partial
                    )
                    if event.score_detail:
                        break
                case Evaluated():  # the score of a run that was killed before its end
                    return Scoring(
                        event.score_state, event.score, event.detail, partial=event.partial
                    )
                case RunResumed():
                    break
                case _:
                    pass
        return scoring

    @cached_property
    def steps(self) -> tuple[StepRecord, ...]:
        """The steps in the order in which they ran, including interrupted ones."""
        return group(self.events)

    @cached_property
    def totals(self) -> Totals:
        """Totals of the events, which are right even if a crash left the manifest behind."""
        totals, last_at = Totals(), self.manifest.started_at
        for event in self.events:
            totals.add(event, last_at)
            last_at = event.at
        return totals

    @property
    def guidance(self) -> Guidance | None:
        """The advice that the run began with."""
        return next((e for e in self.events if isinstance(e, Guidance)), None)

    @property
    def induced(self) -> tuple[Induced, ...]:
        """The patterns learned from the run."""
        return tuple(e for e in self.events if isinstance(e, Induced))

    @property
    def failures(self) -> tuple[Failed, ...]:
        """The logged errors, oldest first."""
        return tuple(e for e in self.events if isinstance(e, Failed))

    @property
    def last_step(self) -> int:
        """The number of the last complete step; 0 if there is none."""
        return max((e.step for e in self.events if isinstance(e, StepFinished)), default=0)

    def image(self, sha256: str) -> Path | None:
        """Returns the file of a picture; None if it is missing or the name is not a hash.

        A picture that is part of another one is cut out of it when it is first asked for, and must
        have the same hash.
        """
        if not _SHA256.fullmatch(sha256):
            return None
        path = self.folder / IMAGES / f"{sha256}.png"
        if not path.exists():
            with suppress(OSError, ValueError, KeyError, TypeError):
                self._cut_out(path)
        return path if path.is_file() and not path.is_symlink() else None

    def _cut_out(self, path: Path) -> None:
        record = json.loads(path.with_suffix(".json").read_text("utf-8"))
        full_path = path.parent / f"{record['part_of']}.png"
        if not _SHA256.fullmatch(full_path.stem) or full_path.is_symlink():
            return
        picture = Screenshot.from_png(full_path.read_bytes())
        boxes = [BoundingBox(*box) for box in record["boxes"]]
        all_of_it = BoundingBox(0, 0, picture.size.width, picture.size.height)
        inside = all(all_of_it.intersection(box) == box for box in boxes)  # the file is untrusted
        if inside and (part := picture.join_parts(boxes)).sha256 == path.stem:
            replace_file(path, part.png)

    @property
    def _end_event(self) -> RunFinished | None:
        """The end of the run, unless it was resumed afterwards."""
        for event in reversed(self.events):
            if isinstance(event, RunFinished):
                return event
            if isinstance(event, RunResumed):
                return None
        return None


def read_manifest(folder: Path) -> Manifest:
    """Returns the content of ``run.json``.

    Raises:
        UsageError: the file is missing or is not a manifest.
    """
    path, ls = folder / MANIFEST, command_in(folder.parent, "ls")
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{str(folder)!r} is not a run folder: {MANIFEST}: {error.strerror}", fix=ls
        ) from error
    except ValidationError as error:
        raise UsageError(f"{str(path)!r} is damaged: {error.errors()[0]['msg']}", fix=ls) from error


def list_runs(root: Path) -> list[Path]:
    """Returns all run folders in ``root``, newest first."""
    if not root.is_dir():
        return []
    folders = [f for f in root.iterdir() if _ID.fullmatch(f.name) and (f / MANIFEST).is_file()]
    return sorted(folders, key=lambda folder: folder.name, reverse=True)


def find_run(name: str, root: Path) -> Path:
    """Returns the folder of a run: by its id, the beginning or end of its id, or ``latest``.

    Raises:
        UsageError: no run or several runs match, or the name cannot be an id.
    """
    folders, ls = list_runs(root), command_in(root, "ls")
    if not folders:
        raise UsageError(f"no runs in {str(root)!r}", fix='hisa run "TASK"')
    if name == "latest":
        return next(filter(_readable, folders), folders[0])
    if not _ID.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a run id: letters, digits, '.', '_' and '-' only", fix=ls
        )
    exact = [folder for folder in folders if folder.name == name]
    matches = exact or [f for f in folders if f.name.startswith(name)]
    matches = matches or [f for f in folders if f.name.endswith(name)]
    if len(matches) == 1:
        return matches[0]
    problem = f"{len(matches)} runs begin with" if matches else "no run is called"
    near = close_names(name, [folder.name for folder in folders])
    some = ": " + ", ".join(folder.name for folder in matches[:5]) if matches else near
    raise UsageError(f"{problem} {name!r}{some}", fix=ls)


def command_on(folder: Path, verb: str = "resume") -> str:
    """Returns the command ``hisa runs VERB ID`` for a run, wherever its folder is."""
    return command_in(folder.parent, f"{verb} {folder.name}")


def command_in(root: Path, words: str) -> str:
    """Returns the command ``hisa runs WORDS`` for the runs in a folder."""
    where = "" if root == Path("runs") else f"--set run.folder={shlex.quote(str(root))} "
    return f"hisa {where}runs {words}"


def _readable(folder: Path) -> bool:
    try:
        read_manifest(folder)
    except UsageError:
        return False
    return True


def load_run(name: str | Path, root: Path | None = None) -> Run:
    """Load a run by its folder, or by its name in ``root`` (see `find_run`).

    Args:
        name: a name of a run. A `Path` is the run's folder; so is a text with a "/" if no root is
            given.
        root: the folder with the run folders; None: ``runs``.

    Raises:
        UsageError: there is no such run, or its manifest is damaged.
    """
    if isinstance(name, Path) or (root is None and "/" in name):
        folder = Path(name)
    else:
        folder = find_run(name, root if root is not None else Path("runs"))
    manifest = read_manifest(folder)
    reader = read_events(folder / EVENTS)
    events = tuple(reader)
    return Run(folder, manifest, events, reader.skipped, reader.torn, is_running(folder))


def is_running(folder: Path) -> bool:
    """Whether a running process is writing the run."""
    return is_locked(folder / LOCK)
