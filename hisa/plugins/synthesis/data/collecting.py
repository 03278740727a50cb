"""A collection: its runs (``runs.jsonl``), and their grades by each judge (``grades.jsonl``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path

from hisa.config import Settings
from hisa.errors import BudgetExceeded, HisaError, ModelUnavailable
from hisa.machine.storage import AppendOnlyFile
from hisa.models.spending import Ledger
from hisa.plugins.synthesis.data.trajectories import (
    CollectedRun,
    read_trajectories,
    trajectory_of,
)
from hisa.plugins.synthesis.data.trajectory_rewards import RULES, Grade, grade
from hisa.plugins.synthesis.exploration import append_record, read_records
from hisa.plugins.synthesis.model_instructions import open_writer
from hisa.runs.read import load_run
from hisa.text.redact import redact

__all__ = ["Collection", "read_grades"]


def read_grades(folder: Path, judge: str = RULES) -> list[Grade]:
    """The grades by one judge. Raises: UsageError where a line is damaged."""
    grades = read_records(folder / "grades.jsonl", Grade)
    return list({grade.run: grade for grade in grades if grade.judge == judge}.values())


class Collection:
    """A folder to add runs and grades to. Raises: UsageError where a file is damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = {run.run: run for run in read_records(folder / "runs.jsonl", CollectedRun)}
        self.left_out: Counter[str] = Counter()
        self.stopped = ""  # why grading ended early

    def add_runs(self, sources: Sequence[Path], *, unfinished: bool = False) -> None:
        """Add finished runs of run folders, folders of them and benches; or those cut off too."""
        trajectories, self.left_out = read_trajectories(sources, unfinished=unfinished)
        with closing(AppendOnlyFile(self.folder / "runs.jsonl")) as file:
            for one in trajectories:
                if one.id not in self.runs:
                    place = str(one.folder.resolve())
                    self.runs[one.id] = CollectedRun(run=one.id, folder=place, task=one.task)
                    append_record(file, self.runs[one.id])

    async def grade(
        self, model: Settings | None, say: Callable[[str], object], limit: int | None = None
    ) -> list[Grade]:
        """Grade runs without a grade of the settings' judge, None: the rules; all its grades.

        Each is written as it comes; ``say`` gets lines of progress, ``limit`` is of new grades.
        Raises: ConfigError, ModelUnavailable where the model cannot be opened.
        """
        own = open_writer(model, self.folder, Ledger(), "judge") if model else nullcontext()
        with closing(AppendOnlyFile(self.folder / "grades.jsonl")) as file:
            async with own as judge:
                name = judge.model.name if judge else RULES
                graded = {grade.run: grade for grade in read_grades(self.folder, name)}
                waiting = [run for run in self.runs.values() if run.run not in graded][:limit]
                for number, run in enumerate(waiting, 1):
                    try:
                        trajectory = trajectory_of(load_run(Path(run.folder)), unfinished=True)
                        graded[run.run] = await grade(trajectory, judge)
                        append_record(file, graded[run.run])
                    except (BudgetExceeded, ModelUnavailable) as error:
                        self.stopped = redact(str(error))
                        break
                    except (HisaError, OSError, ValueError, LookupError) as error:
                        self.left_out[f"no grade, {type(error).__name__}"] += 1
                    if judge or number % 100 == 0:
                        say(f"{number}/{len(waiting)} graded by {name}")
        return [graded[run] for run in self.runs if run in graded]
