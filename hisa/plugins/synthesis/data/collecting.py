"""The folder of a collection: its runs, and the grades of them by each judge.

``runs.jsonl`` names the run folders, ``grades.jsonl`` has a line a run and judge, ``calls.jsonl``
the judges' turns, ``benches/`` the benches that were run for it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from hisa.config import Settings
from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable, UsageError
from hisa.machine.storage import PRIVATE_FOLDER, AppendOnlyFile, Lock
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models
from hisa.models.spending import Ledger
from hisa.plugins.synthesis.data.trajectories import Trajectory, read_trajectories
from hisa.plugins.synthesis.data.trajectory_rewards import (
    RULES,
    Grade,
    grade_by_model,
    grade_by_rules,
)
from hisa.plugins.synthesis.exploration import append_record, read_records
from hisa.text.redact import redact
from hisa.text.safe_text import safe_line

__all__ = ["CollectedRun", "Collection", "read_grades", "run_hisa"]


class CollectedRun(BaseModel):
    """A run of a collection."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run: str
    folder: str
    """Absolute."""
    task: str


def read_grades(folder: Path, judge: str = RULES) -> list[Grade]:
    """The grades of a collection by one judge, the newest of each run.

    Raises:
        UsageError: a line is damaged.
    """
    grades = read_records(folder / "grades.jsonl", Grade)
    return list({grade.run: grade for grade in grades if grade.judge == judge}.values())


class Collection:
    """A collection that runs and grades are added to; one process at a time has it.

    Raises:
        UsageError: another process has it, or a file of it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        lock = Lock.take(folder / ".collect.lock")
        if lock is None:
            holder = Lock.holder(folder / ".collect.lock")
            raise UsageError(f"{folder}: process {holder} collects there", fix="-o another folder")
        self._lock = lock
        try:
            self.runs = {run.run: run for run in read_records(folder / "runs.jsonl", CollectedRun)}
        except UsageError:
            lock.release()
            raise
        self.left_out: Counter[str] = Counter()
        """Runs that are no data, by the reason."""
        self.failed: Counter[str] = Counter()
        """Runs that got no grade, by the reason; the next time they are tried again."""
        self.stopped = ""
        """Why grading ended early."""

    def close(self) -> None:
        """Let the next process have it."""
        self._lock.release()

    def add_runs(self, sources: Sequence[Path], limit: int | None = None) -> None:
        """Add the finished runs of folders and benches, ``limit`` of them at most, oldest first."""
        trajectories, left_out = read_trajectories(sources)
        self.left_out += left_out
        file = AppendOnlyFile(self.folder / "runs.jsonl")
        try:
            for one in trajectories[:limit]:
                if one.id not in self.runs:
                    place = str(one.folder.resolve())
                    self.runs[one.id] = CollectedRun(run=one.id, folder=place, task=one.task)
                    append_record(file, self.runs[one.id])
        finally:
            file.close()

    async def grade(
        self, settings: Settings | None, *, say: Callable[[str], object], limit: int | None = None
    ) -> tuple[str, list[Grade]]:
        """Grade the runs that have no grade of this judge; each grade is written as it comes.

        Args:
            settings: whose judge grades; None: the rules do.
            say: gets a line of progress.
            limit: grades that are made at most.

        Returns:
            the judge's name, and all its grades.

        Raises:
            ConfigError, ModelUnavailable: the model cannot be opened.
        """
        calls, ledger = AppendOnlyFile(self.folder / "calls.jsonl"), Ledger()
        try:
            if settings is None:
                return RULES, await self._grade(RULES, None, say, limit)
            run = settings.run
            budget = Budget(run.budget_usd, run.budget_tokens, seconds=run.budget_seconds)
            opened = open_models(settings, lambda call: append_record(calls, call), budget, ledger)
            async with opened as models:
                name = models["judge"].name
                return name, await self._grade(name, models, say, limit)
        finally:
            calls.close()

    async def _grade(
        self, judge: str, models: Models | None, say: Callable[[str], object], limit: int | None
    ) -> list[Grade]:
        graded = {grade.run: grade for grade in read_grades(self.folder, judge)}
        folders = [Path(run.folder) for run in self.runs.values() if run.run not in graded][:limit]
        file = AppendOnlyFile(self.folder / "grades.jsonl")
        try:
            for number, folder in enumerate(folders, 1):
                grade = await self._one(folder, models)
                if grade is not None:
                    append_record(file, grade)
                    graded[grade.run] = grade
                if models is not None or number % 50 == 0:
                    mark = "no grade" if grade is None else f"{grade.reward} {grade.reason}"
                    say(f"{number}/{len(folders)}  {folder.name}: {safe_line(mark, 90)}")
        except (BudgetExceeded, ModelUnavailable) as error:
            self.stopped = redact(str(error))
        finally:
            file.close()
        return [graded[run] for run in self.runs if run in graded]

    async def _one(self, folder: Path, models: Models | None) -> Grade | None:
        """A run's grade; None, counted, where there is none."""
        try:
            trajectory = self._trajectory(folder)
            if models is None:
                return grade_by_rules(trajectory)
            sees = models.profiles["judge"].sees_pictures and "judge" not in models.picture_changes
            return await grade_by_model(models["judge"], trajectory, sees=sees)
        except InvalidReply as error:
            self.failed[f"no usable reply: {str(error)[:100]}"] += 1
        except UsageError as error:
            self.failed[str(error)] += 1
        except (OSError, ValueError):
            self.failed["a look is damaged or gone"] += 1
        return None

    def _trajectory(self, folder: Path) -> Trajectory:
        if not (folder / "run.json").is_file():
            raise UsageError("its folder is gone")
        trajectories, left_out = read_trajectories([folder])
        if not trajectories:
            raise UsageError(next(iter(left_out), "it is damaged"))
        return trajectories[0]


def run_hisa(arguments: Sequence[str], *, quiet: bool = False) -> int:
    """Run a command of HiSA in a process of its own; its output goes to standard error.

    Ctrl-C and SIGTERM are passed on once, and its end is waited for: it puts its desktops away.

    Returns:
        its exit status, or 1 where it was stopped.
    """
    output = subprocess.DEVNULL if quiet else 2

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    process = subprocess.Popen(
        [sys.executable, "-m", "hisa", *arguments], stdin=subprocess.DEVNULL, stdout=output,
        process_group=0,
    )  # fmt: skip
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)
