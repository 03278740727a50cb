"""Whether attempts at a task began from the same state, and what differs where they did not.

The reference of a task is the start of its first attempt that counts, in this bench or in another
one that is named. A start that differs is flagged; the attempt counts as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from hisa.events import Fingerprinted, Observed, StartFile, StepFinished
from hisa.plugins.benchmarks.bench.ledger import RUNS, Attempt, SlotState, read_attempts, read_plan
from hisa.plugins.benchmarks.bench.screens import ScreenChange, compare_screens
from hisa.runs.read import IMAGES, read_events

__all__ = [
    "Start",
    "StartCheck",
    "StartChecker",
    "StartSums",
    "check_starts",
    "differences",
    "read_start",
]

_MOST = 12
"""Differences that are named."""


@dataclass(frozen=True)
class Start:
    """What an attempt began from."""

    folder: Path
    """Of its run."""
    taken: Fingerprinted
    look: Observed | None = None
    """The first look after it."""

    @property
    def picture(self) -> Path | None:
        """The first look's file."""
        return None if self.look is None else self.folder / IMAGES / f"{self.look.image}.png"


class StartCheck(BaseModel):
    """An attempt's start against its task's reference."""

    variant: str
    task: str
    repeat: int
    run: str
    reference: str
    """The run it is compared with; with its bench folder where that is another one."""
    differs: tuple[str, ...] = ()
    """What differs, in words; empty where nothing does."""
    unknown: str = ""
    """What could not be compared, and why."""
    before: str = ""
    """The reference's picture, where the screens differ."""
    now: str = ""
    """The attempt's picture, where the screens differ."""
    box: tuple[float, float, float, float] | None = None
    """Around what differs on the screen: left, top, width, height, as shares of it."""


class StartSums(BaseModel):
    """The starts of a bench."""

    compared: int = 0
    """Attempts that were compared with a reference."""
    partly: int = 0
    """Of those, the ones of which something is unknown: files and packages, or the screen."""
    differ: list[StartCheck] = []


class StartChecker:
    """Checks the starts of a bench's attempts.

    Args:
        folder: the bench folder.
        reference: another bench folder; tasks that it has are compared with its starts.

    Raises:
        UsageError: ``reference`` is no bench folder.
    """

    def __init__(self, folder: Path, reference: Path | None = None) -> None:
        self._folder = folder.resolve()
        self._reference = None if reference is None else reference.resolve()
        self._elsewhere: dict[str, list[Attempt]] = {}
        self._references: dict[Path, Start | None] = {}
        if reference is not None:
            read_plan(reference)
            for slot, slot_state in read_attempts(reference).items():
                if slot_state.result is not None:
                    self._elsewhere.setdefault(slot.task, []).append(slot_state.result)

    def check(self, attempt: Attempt, results: Iterable[Attempt]) -> StartCheck | None:
        """Compare one attempt; reads its run folder and the reference's.

        Args:
            attempt: one that counts.
            results: all attempts at its task that count, itself among them or not.

        Returns:
            None where it has no fingerprint, is the reference itself, or there is none.
        """
        start = read_start(self._folder / RUNS / attempt.run) if attempt.run else None
        reference, name = self._reference_of(attempt, results)
        if start is None or reference is None or reference.folder == start.folder:
            return None
        change, missing = _screens(reference, start)
        differs = differences(reference, start, change)
        shown = change is not None and change.tells
        return StartCheck(
            **attempt.slot._asdict(),
            run=attempt.run,
            reference=name,
            differs=(*differs[:_MOST], *_rest(len(differs) - _MOST)),
            unknown=start.taken.unknown or reference.taken.unknown or missing,
            before=str(reference.picture) if shown else "",
            now=str(start.picture) if shown else "",
            box=change.box if change is not None and shown else None,
        )

    def _reference_of(
        self, attempt: Attempt, results: Iterable[Attempt]
    ) -> tuple[Start | None, str]:
        if self._reference is not None:
            found = self._first(self._reference, self._elsewhere.get(attempt.slot.task, ()))
            if found is not None:
                return found, f"{self._reference.name}/{found.folder.name}"
        found = self._first(self._folder, results)
        return found, "" if found is None else found.folder.name

    def _first(self, folder: Path, results: Iterable[Attempt]) -> Start | None:
        """The start of the attempt that ended first, of those that have a fingerprint."""
        ended = sorted(results, key=lambda each: each.finished.at if each.finished else 0.0)
        starts = (self._kept(folder / RUNS / each.run) for each in ended if each.run)
        return next((start for start in starts if start is not None), None)

    def _kept(self, run: Path) -> Start | None:
        """Read the start of a run once: a reference is compared with many attempts."""
        if run not in self._references:
            self._references[run] = read_start(run)
        return self._references[run]


def check_starts(starts: StartChecker, slot_states: Iterable[SlotState]) -> StartSums:
    """Check every result of a bench."""
    by_task: dict[str, list[Attempt]] = {}
    for slot_state in slot_states:
        if slot_state.result is not None:
            by_task.setdefault(slot_state.slot.task, []).append(slot_state.result)
    checks = [starts.check(each, results) for results in by_task.values() for each in results]
    made = [check for check in checks if check is not None]
    return StartSums(
        compared=len(made),
        partly=sum(bool(check.unknown) for check in made),
        differ=[check for check in made if check.differs],
    )


def read_start(run: Path) -> Start | None:
    """The start of a run; None where it was not written down.

    A run that was taken up again before its first step was whole has begun twice: the last counts.
    """
    taken: Fingerprinted | None = None
    look: Observed | None = None
    latest: Observed | None = None
    try:
        for event in read_events(run):
            match event:
                case Fingerprinted():
                    taken, look = event, latest
                case Observed() if taken is not None and look is None:
                    look = event  # of a version that looked after it
                case Observed():
                    latest = event
                case StepFinished():
                    break
                case _:
                    pass
    except OSError:
        return None
    return None if taken is None else Start(run, taken, look)


def _screens(before: Start, now: Start) -> tuple[ScreenChange | None, str]:
    """Compare two starts' pictures; returns the change, and a reason if one is missing.

    Screens of different sizes are not compared: the sizes are a difference of their own.
    """
    if before.picture is None or now.picture is None:
        return None, "no look at the screen"
    if _screen(before) != _screen(now):
        return None, ""
    try:
        return compare_screens(before.picture, now.picture), ""
    except (OSError, ValueError):
        return None, "a picture of the screen is missing"


def _screen(start: Start) -> tuple[int, int] | None:
    look = start.look
    return None if look is None else (look.screen_width, look.screen_height)


def differences(before: Start, now: Start, change: ScreenChange | None) -> list[str]:
    """List the differences between two starts, in words.

    What is not known of one of them counts as no difference.

    Args:
        before: the reference.
        now: the start that is checked.
        change: how the pictures differ, where they could be compared.
    """
    one, other = before.taken, now.taken
    found = []
    if one.environment != other.environment:
        found.append(f"environment {one.environment} -> {other.environment}")
    found += _screen_words(before, now, change)
    found += _file_words(one, other)
    found += _version_words(one, other)
    return found


def _screen_words(before: Start, now: Start, change: ScreenChange | None) -> Iterator[str]:
    old, new = before.look, now.look
    if old is None or new is None:
        return
    if _screen(before) != _screen(now):
        was, is_ = (f"{a.screen_width}x{a.screen_height}" for a in (old, new))
        yield f"screen is {is_}, was {was}"
    if change is not None and change.tells:
        yield f"screen differs in {100 * change.share:.1f}%"
    if old.windows and new.windows:
        was_open, is_open = Counter(old.windows), Counter(new.windows)
        yield from (f"window {title!r} is new" for title in is_open - was_open)
        yield from (f"window {title!r} is missing" for title in was_open - is_open)


def _file_words(before: Fingerprinted, now: Fingerprinted) -> Iterator[str]:
    if before.files is None or now.files is None:
        return
    old = {file.path: file for file in before.files}
    new = {file.path: file for file in now.files}
    for path in sorted(old.keys() | new.keys()):
        if path not in new:
            yield f"file {path} is missing"
        elif path not in old:
            yield f"file {path} is new"
        elif old[path] != new[path]:
            yield f"file {path} differs{_sizes(old[path], new[path])}"


def _sizes(old: StartFile, new: StartFile) -> str:
    return "" if old.size == new.size else f" ({old.size} -> {new.size} bytes)"


def _version_words(before: Fingerprinted, now: Fingerprinted) -> Iterator[str]:
    old, new = before.versions, now.versions
    silent = before.unknown or now.unknown
    for name in sorted(old.keys() & new.keys() if silent else old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name, 'not there')} -> {new.get(name, 'not there')}"


def _rest(count: int) -> list[str]:
    return [f"and {count} more"] if count > 0 else []
