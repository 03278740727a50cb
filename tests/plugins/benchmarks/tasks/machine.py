"""A machine in memory for task tests: files, windows, and answers to command lines."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.benchmark import RawStep
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.evaluator import run_step
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.protocols import CommandResult, Task
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Observation, Window
from hisa.tasks.task_context import Phase
from hisa.testing.form import FakeEnvironment

OK = CommandResult(0, "")
_LOOKED_AT = ("stat ", "cat /tmp/.hisa-", "rm -f /tmp/.hisa-", "rm -rf /tmp/.hisa-")
"""What a setup asks to see that it worked; answered as by a machine that does not know."""
PROGRAMS = "python3 google-chrome socat libreoffice gedit wmctrl bash find ls echo sudo chmod"


async def offline(url: str) -> bytes:
    """What a cache asks where a test has not put the file."""
    raise EnvironmentFailed(f"{url}: tests download nothing")


async def at_once(seconds: float) -> None:
    """Waits for nobody."""


class Machine(FakeEnvironment):
    """A form whose command lines are answered by pattern; every line is kept.

    Args:
        answers: regular expression to result; the first that is found in the line.
        programs: names that ``command -v`` finds.
        windows: titles, the first in front; the application is the last word.
    """

    def __init__(
        self,
        answers: Mapping[str, CommandResult] | None = None,
        *,
        programs: str = PROGRAMS,
        windows: Sequence[str] = (),
        dead: bool = False,
    ) -> None:
        super().__init__(fail_after=0 if dead else None)
        self.lines: list[str] = []
        self.titles = list(windows)
        self._answers = dict(answers or {})
        self._programs = programs.split()

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """The first answer whose pattern is found; else success without output."""
        line = command if isinstance(command, str) else " ".join(command)
        self._alive()
        if query := re.fullmatch(r"command -v (\S+)", line):
            return CommandResult(0 if query[1] in self._programs else 1, "")
        if line.startswith(_LOOKED_AT):
            return OK
        if line.startswith("command_not_found_handle()"):
            line = line.rpartition("\n")[2]
        self.lines.append(line)
        return next((r for p, r in self._answers.items() if re.search(p, line)), OK)

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """The form's picture with this machine's windows."""
        observation = await super().observe(elements=elements, settle=settle)
        windows = tuple(
            Window(
                hex(16 + n), title, title.split()[-1], BoundingBox(0, 0, 300, 200, "screen"), not n
            )
            for n, title in enumerate(self.titles)
        )
        return dataclasses.replace(observation, windows=windows)


def context(
    folder: Path, machine: FakeEnvironment | None = None, phase: Phase = "prepare"
) -> StepContext:
    """A context whose task, cache and scratch folder are below ``folder``."""
    places = [folder / name for name in ("task", "scratch", "cache")]
    for place in places:
        place.mkdir(exist_ok=True)
    task = Task(id="t", instruction="x", folder=str(places[0]))
    cache = FileCache(places[2], offline)
    return StepContext(task, machine or Machine(), places[1], phase, pause=at_once, cache=cache)


async def do(where: StepContext, kind: str, **parameters: Any) -> None:
    """Do one setup step of a benchmark."""
    await run_step(where, RawStep(type=kind, parameters=parameters))
