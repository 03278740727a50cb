"""Brings a desktop to a task's initial state, and scores what the agent left behind."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from hisa.errors import EnvironmentFailed, UsageError
from hisa.protocols import Environment, ExitStatus, Task
from hisa.tasks.files import Check, SetupStep, WaitWindow

__all__ = ["TaskScorer"]


class TaskScorer:
    """Setup steps and checks of our own task files; see `hisa.protocols.Scorer`."""

    async def prepare(self, task: Task, environment: Environment) -> None:
        """Run the setup in order."""
        for number, raw in enumerate(task.setup, 1):
            step = SetupStep.model_validate(raw)
            try:
                await _set_up(step, task, environment)
            except EnvironmentFailed as error:
                raise EnvironmentFailed(
                    f"setup step {number} of task {task.id!r}: {error}", fix=error.fix
                ) from error

    async def score(
        self, task: Task, environment: Environment, status: ExitStatus
    ) -> tuple[float | None, str]:
        """1.0 where every check holds; 0.0 with the first that does not."""
        if task.check is None:
            return None, "the task has no check"
        for raw in task.check["all"]:
            problem = await _problem(Check.model_validate(raw), environment)
            if problem:
                return 0.0, problem
        return 1.0, f"all {len(task.check['all'])} checks hold"


async def _set_up(step: SetupStep, task: Task, environment: Environment) -> None:
    if step.write is not None:
        await environment.write_file(step.write.path, step.write.text.encode())
    elif step.copy_file is not None:
        data = _beside(task, step.copy_file.source)
        await environment.write_file(step.copy_file.path, data)
    elif step.run is not None:
        result = await environment.execute(step.run)
        if result.exit_code != 0:
            said = (result.error or result.output).strip()[:500]
            raise EnvironmentFailed(f"{step.run!r} ended with {result.exit_code}: {said}")
    elif step.launch is not None:
        await environment.execute(f"setsid -f {step.launch} >/dev/null 2>&1 </dev/null")
    elif step.wait_window is not None:
        await _await_window(step.wait_window, environment)


def _beside(task: Task, name: str) -> bytes:
    """A file below the task's folder, and nowhere else: task files are hostile input."""
    folder = Path(task.folder).resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise UsageError(f"task {task.id!r}: {name!r} lies outside the task's folder {folder}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"task {task.id!r}: {path}: {error.strerror}") from error


async def _await_window(wanted: WaitWindow, environment: Environment) -> None:
    deadline = time.monotonic() + wanted.seconds
    while True:
        observation = await environment.observe(settle=0.5)
        if any(wanted.title in window.title for window in observation.windows):
            return
        if time.monotonic() > deadline:
            titles = [window.title for window in observation.windows]
            raise EnvironmentFailed(
                f"no window titled {wanted.title!r} after {wanted.seconds:g} s; there are: {titles}"
            )
        await asyncio.sleep(0.2)


async def _problem(check: Check, environment: Environment) -> str:
    """Why the check does not hold; empty where it does."""
    if check.file is not None:
        subject = check.file
        try:
            text = (await environment.read_file(check.file)).decode("utf-8", errors="replace")
        except FileNotFoundError:
            return f"{check.file}: no such file"
    else:
        subject = f"{check.command!r}"
        result = await environment.execute(check.command or "")
        if result.exit_code != 0:
            return f"{subject} ended with {result.exit_code}"
        text = result.output
    return _mismatch(check, text, subject)


def _mismatch(check: Check, text: str, subject: str) -> str:
    if check.equals is not None and text.strip() != check.equals.strip():
        return f"{subject}: is {text.strip()[:200]!r}, not {check.equals.strip()[:200]!r}"
    for wanted in check.contains:
        if wanted not in text:
            return f"{subject}: {wanted!r} is not in {text[:200]!r}"
    for unwanted in check.excludes:
        if unwanted in text:
            return f"{subject}: {unwanted!r} is in it"
    return ""
