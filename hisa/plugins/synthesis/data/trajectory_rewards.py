"""Trajectory rewards: a grade of 1 to 5 for a whole run (OS-Genesis, section 3.3 and appendix F).

The judge is a model, or rules. It sees the instruction, the steps and the last three looks, and
never the score. Runs are drawn by these grades (algorithm 1, and the arms of 5.2).
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from hisa.actions import Hotkey, Write
from hisa.config import Settings
from hisa.errors import BudgetExceeded, HisaError, ModelUnavailable, UsageError
from hisa.machine.storage import AppendOnlyFile
from hisa.models.spending import Ledger
from hisa.plugins.synthesis.data.trajectories import (
    CollectedRun,
    Look,
    Trajectory,
    TrajectoryStep,
    read_trajectories,
    trajectory_of,
)
from hisa.plugins.synthesis.exploration import append_record, read_records
from hisa.plugins.synthesis.model_instructions import Writer, ask_writer, open_writer
from hisa.plugins.synthesis.records import Record
from hisa.runs.run_reader import load_run
from hisa.text.prompt_text import mark_untrusted, one_line
from hisa.text.prompts import render
from hisa.text.redact import redact

__all__ = [
    "RULES",
    "Collection",
    "DrawMethod",
    "Grade",
    "draw_runs",
    "grade",
    "looks",
    "read_grades",
]
__all__ += ["step_lines"]


DrawMethod = Literal["reward", "all", "complete"]
RULES: Final = "rules"
_LAST, _STEPS = 3, 60
"""Looks that a judge sees (appendix F); most steps, and most texts of a look with no picture."""
_STOP = frozenset(  # words of instructions that do not name anything on a screen
    "a an and are at be button by can click choose enter field find for from go in into is it its "  # noqa: SIM905
    "main make of on open option or page press put select set so submit task text that the them "
    "then there this to turn type use what which window with you".split()
)
_QUOTED = re.compile(r'"([^"]{1,200})"|“([^”]{1,200})”|(?<!\w)\'([^\']{1,200})\'(?!\w)')
_WORD = re.compile(r"\w+(?:[.:/@-]\w+)*")
_ENDINGS = {"termination": "done", "infeasible": "gave up"}
_Mark = Annotated[int, Field(ge=1, le=5)]


class _Marks(Record):
    reason: str = Field(min_length=1, max_length=1_200)
    completion: _Mark
    coherence: _Mark
    reward: _Mark


class Grade(_Marks):
    """A judge's grades, 1 (nothing done) to 5 (done directly); ``reward`` is R of algorithm 1."""

    run: str
    judge: str  # "rules", or the name of a model


def looks(trajectory: Trajectory) -> list[Look]:
    """Returns all looks in order: the one before each step, and the one after the last."""
    all_looks = [step.before for step in trajectory.steps]
    return all_looks if (after := trajectory.steps[-1].after) is None else [*all_looks, after]


def step_lines(trajectory: Trajectory) -> list[str]:
    """Returns a line with thought and action of every step, as a judge reads it."""
    lines = []
    for step in trajectory.steps:
        source = step.input if isinstance(step.input, str) else json.dumps(step.input)
        text = f"{step.number}. {step.thought[:400]} | {step.tool}: {source[:400]}"
        lines.append(one_line(" ".join([text, *step.descriptions, *["FAILED"] * (not step.ok)])))
    if (more := len(lines) - _STEPS) > 0:
        lines[_STEPS // 2 : -_STEPS // 2] = [f"({more} steps are left out here)"]
    return lines


def _grade_by_rules(trajectory: Trajectory) -> Grade:
    """Returns the rules' grade, from the terms of the instruction met, the ending and wasted steps.

    A term is a quoted text, or a word that names something. It is met if it was typed, is on a
    control that was used, or appeared on the screen. Weights were chosen by hand.
    """
    steps = [step for step in trajectory.steps if not step.ends]
    otherwise = "cut off" if trajectory.truncated else "ended by the page"
    ending = _ENDINGS.get(trajectory.steps[-1].tool, otherwise)
    terms = _terms(trajectory.instruction)
    first, last = (set(_texts(look)) for look in (looks(trajectory)[0], looks(trajectory)[-1]))
    used = " ".join(_join_used_texts(step, trajectory.instruction) for step in steps)
    text = " ".join([used, *sorted(last - first)]).casefold()
    met = sum(bool(re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text)) for term in terms)
    idle = [step for step in steps if not _has_changed(step)]
    again = sum(before.input == two.input for before, two in pairwise(idle))
    failed = sum(not step.ok for step in steps)
    keys = {a.keys[-1] for step in steps for a in step.actions if isinstance(a, Hotkey)}
    unsaved = "s" not in keys and "save" in _WORD.findall(trajectory.instruction.casefold())
    unsaved &= "save" not in used.casefold()
    well_ended = ending in ("done", "ended by the page") and bool(steps) and _has_changed(steps[-1])
    completion = round(1 + 2.6 * (met / len(terms) if terms else 1) + 1.4 * well_ended)
    most = 2 if ending == "gave up" else 3 if unsaved or ending == "cut off" else 5
    completion = min(completion, most) if met or not terms else 1
    wasted = (len(idle) + 2 * again + 2 * failed) / max(len(steps), 1)
    coherence = max(1, round(5 - 2.5 * wasted)) if steps else 1
    if len(idle) == len(steps):
        completion, coherence = 1, 1
    reward = min(round((2 * completion + coherence) / 3), completion + 1)
    reason = (
        f"{ending}{', not saved' * unsaved}; {met} of {len(terms)} terms of the instruction met; "
        f"{len(idle)} of {len(steps)} acts changed nothing, {again} again, {failed} failed"
    )
    return Grade(
        run=trajectory.id,
        judge=RULES,
        reason=reason,
        completion=completion,
        coherence=coherence,
        reward=reward,
    )


def _has_changed(step: TrajectoryStep) -> bool:
    """Whether the look after it differs; files of pictures are named by their content's hash."""
    return step.after is not None and step.after.image != step.before.image


def _join_used_texts(step: TrajectoryStep, instruction: str) -> str:
    """Returns the texts that a step typed and that show, and the names of the controls it used."""
    if not step.ok or step.after is None:
        return ""
    shown = " ".join(_texts(step.after))
    typed = [action.text for action in step.actions if isinstance(action, Write)]
    texts = [text for text in typed if one_line(text) in shown or not step.after.elements]
    texts += [
        text for target in step.targets if target is not None for text in (target.name, target.text)
    ]
    return " ".join(text for text in texts if one_line(text) != one_line(instruction))


def _texts(look: Look) -> list[str]:
    """Returns the window's title, and the visible names and texts."""
    texts = [look.window]
    for element in look.elements:
        if not element.states or {"showing", "visible"} & element.states:
            texts += [element.name, element.text]
    return [one_line(text)[:200] for text in texts if text]


def _terms(instruction: str) -> set[str]:
    quoted = {"".join(match).casefold().strip() for match in _QUOTED.findall(instruction)}
    return quoted or {word.casefold() for word in _WORD.findall(instruction)} - _STOP


def draw_runs(
    grades: Sequence[Grade], count: int, method: DrawMethod = "reward", *, seed: int
) -> list[str]:
    """Returns ids of runs, drawn with replacement.

    Args:
        grades: of one judge, one per run.
        count: number of draws.
        method: "reward" draws with P = R / sum R (algorithm 1), so no run is excluded; "all" draws
            evenly; "complete" draws evenly from the runs with completion 5.
        seed: of the draws.

    Raises: UsageError if there is no run to draw from.
    """
    usable = (grade for grade in grades if method != "complete" or grade.completion == 5)
    pool = sorted(usable, key=lambda grade: grade.run)
    if not pool:
        raise UsageError(f"--sample {method}: no graded run to draw from", fix="--sample all")
    weights = [grade.reward if method == "reward" else 1 for grade in pool]
    return [grade.run for grade in random.Random(seed).choices(pool, weights, k=count)]


async def grade(trajectory: Trajectory, judge: Writer | None) -> Grade:
    """Returns a model's grade, asked for at most twice; with None the rules' grade.

    A model that takes no pictures gets the windows and texts of the last looks.

    Raises:
        InvalidReply: no usable reply, even when asked again.
        BudgetExceeded, ModelUnavailable: from the model.
        ValueError, OSError: a look is damaged or missing.
    """
    if judge is None:
        return _grade_by_rules(trajectory)
    last = looks(trajectory)[-_LAST:]
    texts = {"task": trajectory.instruction, "execution_history": "\n".join(step_lines(trajectory))}
    if not judge.sees:
        screens = ("\n".join(list(dict.fromkeys(_texts(look)))[:_STEPS]) for look in last)
        texts[mark_untrusted("screens")] = "\n\n".join(f"Window {screen}" for screen in screens)
    pictures = (look.screenshot for look in last)
    system, fields = render("trajectory_reward", pictures=judge.sees), _Marks.model_json_schema()
    marks, _ = await ask_writer(
        judge, system, texts, pictures, fields["properties"], _Marks, lambda _: None
    )
    return Grade(run=trajectory.id, judge=judge.model.name, **marks.model_dump())


def read_grades(folder: Path, judge: str = RULES) -> list[Grade]:
    """Returns the grades by one judge. Raises: UsageError if a line is damaged."""
    grades = read_records(folder / "grades.jsonl", Grade)
    return list({grade.run: grade for grade in grades if grade.judge == judge}.values())


class Collection:
    """A folder to add runs and grades to. Raises: UsageError if a file is damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = {run.run: run for run in read_records(folder / "runs.jsonl", CollectedRun)}
        self.left_out: Counter[str] = Counter()
        self.stopped = ""  # why grading ended early

    def add_runs(self, sources: Sequence[Path], *, unfinished: bool = False) -> None:
        """Adds the finished runs in folders and benches; with ``unfinished`` those cut off too."""
        trajectories, self.left_out = read_trajectories(sources, unfinished=unfinished)
        with closing(AppendOnlyFile(self.folder / "runs.jsonl")) as file:
            for trajectory in trajectories:
                if trajectory.id not in self.runs:
                    place = str(trajectory.folder.resolve())
                    self.runs[trajectory.id] = CollectedRun(
                        run=trajectory.id, folder=place, task=trajectory.task
                    )
                    append_record(file, self.runs[trajectory.id])

    async def grade(
        self, model: Settings | None, say: Callable[[str], object], limit: int | None = None
    ) -> list[Grade]:
        """Grades the runs that a judge has not graded yet; returns all its grades.

        Each grade is stored at once.

        Args:
            model: settings with the judge's model; None: the rules.
            say: gets lines of progress.
            limit: most new grades; None: all.

        Raises: ConfigError, ModelUnavailable if the model cannot be opened.
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
