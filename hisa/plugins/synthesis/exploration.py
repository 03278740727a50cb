"""The folder of an exploration: states and triples, appended as they happen, and read back."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel

from hisa.errors import UsageError
from hisa.machine.storage import PRIVATE_FOLDER, AppendOnlyFile, Lock, replace_file
from hisa.plugins.synthesis.records import State, Triple
from hisa.plugins.synthesis.subject import Subject
from hisa.runs.element_files import plain_element, read_elements
from hisa.screen.observation import Element, Observation

__all__ = ["Exploration", "append_record", "keep_look", "read_records", "run_alone"]
__all__ += ["working_in"]

Done = TypeVar("Done")
Record = TypeVar("Record", bound=BaseModel)


def read_records(path: Path, kind: type[Record]) -> list[Record]:
    """Returns the records in a file of JSON lines; an empty list if there is no file.

    Raises: UsageError if a line is not a record of this kind.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [kind.model_validate_json(line) for line in lines if line.endswith(b"\n")]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {str(error)[:500]}") from error


def append_record(file: AppendOnlyFile, record: BaseModel) -> None:
    """Add a record as a line."""
    file.append(record.model_dump_json(exclude_defaults=True).encode() + b"\n")


def keep_look(observation: Observation, images: Path, elements: Path) -> tuple[Path, Path]:
    """Stores the picture and the elements of a look in files named by their hashes.

    Args:
        observation: the look.
        images: folder for the picture, a PNG.
        elements: folder for the elements, as JSON; may be the same folder.

    Returns:
        The two files.
    """
    plain = json.dumps([plain_element(element) for element in observation.elements or ()]).encode()
    image = images / f"{observation.screenshot.sha256}.png"
    listed = elements / f"{hashlib.sha256(plain).hexdigest()}.json"
    replace_file(image, observation.screenshot.png)
    replace_file(listed, plain)
    return image, listed


@contextmanager
def working_in(lock_file: Path) -> Iterator[None]:
    """Holds a lock file. Raises: UsageError if another process holds it."""
    if (lock := Lock.take(lock_file)) is None:
        message = f"{lock_file.parent}: process {Lock.holder(lock_file)} is working there"
        raise UsageError(message, fix="wait until it ends")
    try:
        yield
    finally:
        lock.release()


def run_alone(work: Callable[[], Coroutine[Any, Any, Done]], lock_file: Path) -> Done | None:
    """Runs work while holding a lock file; returns None if Ctrl-C or SIGTERM ended it.

    Raises: UsageError if another process holds the file.
    """

    async def stoppable() -> Done:
        if task := asyncio.current_task():
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work()

    with working_in(lock_file):
        try:
            return asyncio.run(stoppable())
        except (KeyboardInterrupt, asyncio.CancelledError):
            return None


_read_cached_elements = lru_cache(maxsize=2000)(read_elements)
"""Safe to cache: the files are named by their content's hash, so they never change."""


class Exploration:
    """What is known about a subject: states, and the triples between them."""

    def __init__(self, folder: Path, subject: Subject) -> None:
        self.folder = folder
        self.subject = subject
        self.states = {s.id: s for s in read_records(folder / "states.jsonl", State)}
        self.triples = read_records(folder / "triples.jsonl", Triple)
        self._lock: Lock | None = None
        self._files: dict[type[BaseModel], AppendOnlyFile] = {}

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Opens an exploration to read. Raises: UsageError if there is none, or it is damaged."""
        path = folder / "subject.json"
        if not path.exists():
            raise UsageError(f"{folder}: no exploration there", fix="hisa explore APP -o DIR")
        try:
            return cls(folder, Subject.model_validate_json(path.read_text("utf-8")))
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: {str(error)[:500]}") from error

    @classmethod
    def create(cls, folder: Path, subject: Subject) -> Self:
        """Opens an exploration to add to: a new one, or an earlier one of the same subject.

        Raises: UsageError if the folder holds another subject's, or a process is working in it.
        """
        (folder / "images").mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        (folder / "elements").mkdir(PRIVATE_FOLDER, exist_ok=True)
        lock = Lock.take(folder / ".lock")
        if lock is None:
            raise UsageError(
                f"{folder}: process {Lock.holder(folder / '.lock')} is exploring there"
            )
        path = folder / "subject.json"
        if path.exists() and (stored_name := cls.open(folder).subject.name) != subject.name:
            lock.release()
            raise UsageError(
                f"{folder} holds an exploration of {stored_name!r}", fix="-o another folder"
            )
        replace_file(path, subject.model_dump_json(indent=1).encode())
        exploration = cls(folder, subject)
        exploration._lock = lock
        exploration._files[State] = AppendOnlyFile(folder / "states.jsonl")
        exploration._files[Triple] = AppendOnlyFile(folder / "triples.jsonl")
        return exploration

    def close(self) -> None:
        """Closes the files and releases the folder's lock."""
        for file in self._files.values():
            file.close()
        if self._lock:
            self._lock.release()

    @property
    def root(self) -> str:
        """The id of the state after a fresh start, the first one seen; empty if there is none."""
        return next(iter(self.states), "")

    def numbers(self) -> dict[str, str | float]:
        """Returns counts and shares; ``without_effect`` and ``lasting`` are shares of the acts."""
        acts = [triple for triple in self.triples if not triple.failed]
        count = max(1, len(acts))
        return {
            "subject": self.subject.name,
            "states": len(self.states),
            "transitions": len(acts),
            "failures": len(self.triples) - len(acts),
            "fresh_desktops": len({triple.desktop for triple in self.triples}),
            "without_effect": round(sum(not triple.differences for triple in acts) / count, 3),
            "lasting": round(sum(bool(triple.differences.facts) for triple in acts) / count, 3),
        }

    async def keep(self, observation: Observation) -> tuple[str, str]:
        """Stores the picture and the elements of a look; returns their hashes, for a `State`."""
        folders = self.folder / "images", self.folder / "elements"
        image, elements = await asyncio.to_thread(keep_look, observation, *folders)
        return image.stem, elements.stem

    def add_state(self, state: State) -> None:
        """Appends a state, unless it is known."""
        if state.id not in self.states:
            append_record(self._files[State], state)
            self.states[state.id] = state

    def add(self, triple: Triple) -> None:
        """Appends a triple, whose states must have been added before."""
        append_record(self._files[Triple], triple)
        self.triples.append(triple)

    def picture(self, state: State) -> Path:
        """Returns the file of a state's picture, a PNG of the size that models see."""
        return self.folder / "images" / f"{state.image}.png"

    def elements(self, state: State) -> tuple[Element, ...]:
        """Returns the elements of a state; boxes are in screen space.

        Raises: OSError, ValueError if the file is missing or damaged.
        """
        return _read_cached_elements(self.folder / "elements" / f"{state.elements}.json")

    def route(self, state: str, *, over_screens: bool = False) -> list[Triple] | None:
        """Returns the shortest route from a fresh start to a state; None if none is known.

        With ``over_screens``, states that show the same screen count as one.
        """
        states = self.states.values()
        places = {node.id: node.screen if over_screens else node.id for node in states}
        leaving: dict[str, list[Triple]] = defaultdict(list)
        for triple in self.triples:
            if not triple.failed:
                leaving[places[triple.before]].append(triple)
        start, end = (places.get(name, name) for name in (self.root, state))
        ways: dict[str, list[Triple]] = {start: []}
        queue = deque([start])
        while queue and end not in ways:
            place = queue.popleft()
            for triple in leaving[place]:
                if places[triple.after] not in ways:
                    ways[places[triple.after]] = [*ways[place], triple]
                    queue.append(places[triple.after])
        return ways.get(end)
