"""A task format of an outside package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.protocols import ExitStatus, Task
from hisa.tasks.place_file import place
from hisa.tasks.task_context import Context
from hisa.tasks.task_format import Grade, TaskFormat, Unreadable

_ANSWERS = {"france": "Paris", "italy": "Rome"}


class Capitals(TaskFormat):
    """``riddle:COUNTRY``, or a file with ``riddle: COUNTRY``: what is its capital?"""

    def make_task(self, name: str, *, seed: int = 0) -> Task:
        """The task about a country."""
        if name not in _ANSWERS:
            raise UsageError(f"no riddle about {name!r}; there are {', '.join(_ANSWERS)}")
        words = 'Read "/tmp/riddle.txt" and write the answer into "/tmp/answer.txt".'
        return Task(name, words, setup=({"about": name},), check={"answer": _ANSWERS[name]})

    def reads(self, tree: Mapping[str, Any]) -> bool:
        """Whether a file is one of ours."""
        return "riddle" in tree

    def read(self, path: Path, tree: Mapping[str, Any]) -> Task:
        """The task of a file."""
        return self.make_task(str(tree["riddle"]))

    async def set_up(self, context: Context, step: Mapping[str, Any]) -> None:
        """Put the question on the machine."""
        await place(context, "/tmp/riddle.txt", f"The capital of {step['about']}?".encode())

    async def score(self, context: Context, status: ExitStatus) -> Grade:
        """1 for the right answer and nothing else."""
        answer = (context.task.check or {})["answer"]
        try:
            left = (await context.environment.read_file("/tmp/answer.txt")).decode("utf-8")
        except FileNotFoundError:
            return Grade(0.0, "there is no answer")
        except UnicodeDecodeError as error:
            raise Unreadable(f"the answer is no text: {error}") from error
        return Grade(float(left.strip() == answer), f"wanted: {answer}")


CAPITALS = Capitals()
