"""The fingerprint of a start: what a machine holds once a task is set up, before the first step.

It costs one command, opens nothing, and never ends a run: what the machine cannot tell is unknown.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from hisa.errors import EnvironmentFailed
from hisa.events import Fingerprinted, StartFile
from hisa.hooks import Hook, Step
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.bench import inventory
from hisa.protocols import Environment, Task
from hisa.runs.base import HasComponentVersions
from hisa.tasks.find_format import format_of
from hisa.version import __version__

__all__ = ["Fingerprint", "named_paths", "take_fingerprint"]

_SECONDS = 30.0  # chosen by hand
_ANSWER_CHARACTERS = 400_000  # chosen by hand
_MAX_NAMED = 100  # chosen by hand
_PATH_KEYS = ("path", "dest")


class _Answer(BaseModel):
    """What `inventory.py` prints; a machine may print anything."""

    files: tuple[StartFile, ...] = Field(max_length=inventory.MAX_FILES + _MAX_NAMED)
    more: bool
    versions: dict[str, str] = Field(max_length=100)


class Fingerprint(Hook):
    """Writes down what a run begins from, once the task is set up and was looked at."""

    name = "fingerprint"
    watches = True

    async def before_plan(self, step: Step) -> None:
        """Take it before the first step; a run that goes on does not begin again."""
        if step.number == 1:
            step.run.log.emit(await take_fingerprint(step.task, step.environment))


async def take_fingerprint(task: Task, environment: Environment) -> Fingerprinted:
    """The fingerprint of a machine that a task was set up on."""
    started = time.monotonic()
    versions = {"hisa": __version__}
    if judge := await asyncio.to_thread(format_of(task).judged_by, task):
        versions["judge"] = judge
    if isinstance(environment, HasComponentVersions):
        versions |= environment.component_versions
    known: dict[str, Any] = {"environment": _kind(environment)}
    unknown = ""
    try:
        answer = await _ask(task, environment)
        versions |= answer.versions
        known |= {"files": answer.files, "more": answer.more}
    except (EnvironmentFailed, ValidationError) as error:
        unknown = str(error).partition("\n")[0][:500]
    found = Fingerprinted(**known, versions=versions, unknown=unknown)
    seconds = time.monotonic() - started
    return found.model_copy(update={"digest": _digest(found), "seconds": seconds})


async def _ask(task: Task, environment: Environment) -> _Answer:
    line = [
        "python3",
        "-I",
        "-S",
        "-c",
        inspect.getsource(inventory),
        json.dumps(named_paths(task)),
    ]
    done = await environment.execute(line, timeout=patience(_SECONDS), limit=_ANSWER_CHARACTERS)
    if done.timed_out or done.exit_code != 0:
        said = (done.error.strip().splitlines() or [f"exit status {done.exit_code}"])[-1]
        raise EnvironmentFailed(f"{environment.name} does not tell what is on it: {said}")
    return _Answer.model_validate_json(done.output)


def _kind(environment: Environment) -> str:
    """Addresses differ from one machine of a kind to the next."""
    return "guest" if "://" in environment.name else environment.name


def _digest(found: Fingerprinted) -> str:
    told = found.model_dump(include={"environment", "versions", "files", "more"})
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def named_paths(task: Task) -> list[str]:
    """The machine's files that a task's set-up names, each once."""
    return list(dict.fromkeys(_paths(list(task.setup))))[:_MAX_NAMED]


def _paths(tree: Any) -> Iterator[str]:
    if isinstance(tree, list | tuple):
        for item in tree:
            yield from _paths(item)
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            if key in _PATH_KEYS and isinstance(value, str) and value.startswith(("/", "~/")):
                yield value
            else:
                yield from _paths(value)
