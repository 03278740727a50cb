"""Trajectories: the steps of finished runs, each with its looks, a thought and an act."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hisa.actions import Action, parse, points, slots, to_space
from hisa.errors import HisaError, UsageError
from hisa.events import Acted, Observed
from hisa.plugins.synthesis.exploration import read_records
from hisa.plugins.synthesis.records import Record
from hisa.runs.element_files import read_elements
from hisa.runs.run_reader import ELEMENTS, Run, list_runs, load_run
from hisa.runs.step_records import StepRecord
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Element, Screenshot

__all__ = ["CollectedRun", "Look", "Trajectory", "TrajectoryStep", "look_of", "read_trajectories"]
__all__ += ["trajectory_of"]


_ENDED = frozenset({"succeeded", "infeasible", "ended", "max_steps"})
_CUT_OFF = frozenset({"max_steps", "budget", "model_error", "stopped"})
"""Statuses of runs that were cut off."""


class CollectedRun(Record):
    """A run of a collection: a line of ``runs.jsonl``; ``folder`` is an absolute path."""

    run: str
    folder: str
    task: str


@dataclass(frozen=True)
class Look:
    """One look at the screen, whose picture and elements are read from files when needed.

    ``size`` is the screen's in pixels. Boxes and points are in these; the picture may be smaller.
    """

    image: Path
    size: Size
    window: str = ""
    elements_path: Path | None = None

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """The elements in reading order, boxes in screen pixels; empty if none were stored.

        Raises: ValueError, OSError if the file is damaged or missing.
        """
        return () if self.elements_path is None else read_elements(self.elements_path)

    @property
    def screenshot(self) -> Screenshot:
        """The picture. Raises: ValueError, OSError if it cannot be read."""
        return Screenshot.from_png(self.image.read_bytes())

    def element_at(self, point: Point) -> Element | None:
        """Returns the smallest element that contains a point of the screen."""
        holding = [e for e in self.elements if e.box.contains(point)]
        return min(holding, key=lambda e: e.box.area, default=None)


@dataclass(frozen=True)
class TrajectoryStep:
    """One step: (s, h, A) of OS-Catalyst, 3.2, and the look after it.

    ``actions`` are in screen pixels; they are empty for a tool that does not act on the screen,
    which has only its ``input``. ``thought`` is l of OS-Genesis, the low-level instruction.
    """

    number: int
    before: Look
    after: Look | None
    thought: str
    tool: str
    input: Any
    actions: tuple[Action, ...] = ()
    ok: bool = True
    ends: bool = False  # whether it is the call with which the agent ends the run
    descriptions: tuple[str, ...] = ()  # the planner's descriptions of its targets, in order

    @property
    def targets(self) -> tuple[Element | None, ...]:
        """The smallest element at each point of its actions, on the look before."""
        return tuple(self.before.element_at(point) for point in points(self.actions))


@dataclass(frozen=True)
class Trajectory:
    """A finished run as data. ``score`` is the check's, 0 to 1; None without a check."""

    id: str
    folder: Path
    task: str
    instruction: str
    policy: str  # the planner's model
    seed: int
    steps: tuple[TrajectoryStep, ...]
    score: float | None
    success: bool
    status: str
    """How the run ended."""
    by_person: int = 0
    """Number of steps left out because a person acted in them or right before."""

    @property
    def truncated(self) -> bool:
        """Whether it was cut off: by the limit of steps, a budget, its model or a person."""
        return self.status in _CUT_OFF


def trajectory_of(run: Run, *, unfinished: bool = False) -> Trajectory:
    """Returns the trajectory of a run that ended, or with ``unfinished`` of one that was cut off.

    Raises: UsageError if it did not end, its machine or model failed, or no step is usable.
    """
    if not run.ended or run.status not in (_ENDED | _CUT_OFF if unfinished else _ENDED):
        raise UsageError(f"{run.id}: its status is {run.status}", fix="hisa runs ls")
    own = [r for r in run.steps if not any(act.did == "acted" for act in r.person)]
    steps = tuple(step for record in own if (step := _step(run, record)) is not None)
    if not steps:
        raise UsageError(f"{run.id}: no step has a look and an act", fix="hisa runs ls")
    task = run.manifest.task
    return Trajectory(
        id=run.id,
        folder=run.folder,
        task=task.id,
        instruction=task.instruction,
        policy=run.manifest.models.get("planner", ""),
        seed=run.manifest.seed,
        steps=steps,
        score=run.score,
        success=run.success,
        status=run.status,
        by_person=len(run.steps) - len(own),
    )


def read_trajectories(
    folders: Sequence[Path], *, unfinished: bool = False
) -> tuple[list[Trajectory], Counter[str]]:
    """Returns the trajectories in folders, oldest first, and counts of unusable runs by the reason.

    A folder may be a run, a bench, a collection, or hold runs. With ``unfinished``, runs that were
    cut off are included; those of a collection are always included.
    """
    trajectories: list[Trajectory] = []
    left_out: Counter[str] = Counter()
    for folder in folders:
        collected = read_records(folder / "runs.jsonl", CollectedRun)
        for place in _run_folders(folder, collected):
            try:
                cut_off = unfinished or bool(collected)
                trajectories.append(trajectory_of(load_run(place), unfinished=cut_off))
                left_out.update(["a person acted in its step"] * trajectories[-1].by_person)
            except UsageError as error:
                left_out[str(error).partition(": ")[2] or str(error)] += 1
            except (HisaError, ValueError, OSError, LookupError, TypeError):
                left_out["it is damaged"] += 1
    return trajectories, left_out


def _run_folders(folder: Path, collected: Sequence[CollectedRun]) -> list[Path]:
    if (folder / "run.json").is_file():
        return [folder]
    if collected:
        return [Path(run.folder) for run in collected]
    return list_runs(folder / "runs" if (folder / "bench.json").is_file() else folder)[::-1]


def _step(run: Run, record: StepRecord) -> TrajectoryStep | None:
    if record.before is None or record.planned is None or not record.acts:
        return None
    event, acts = record.judged_from or record.before, record.acts
    if not event.elements_sha256 and record.before.elements_sha256:
        event = record.before  # the look that a slow planner decided on; the guard compared with it
    before = look_of(run, event)
    after = look_of(run, record.after) if record.after is not None else None
    if before is None:
        return None
    return TrajectoryStep(
        record.number,
        before,
        after,
        record.planned.thought,
        record.tool,
        acts[0].input if len(acts) == 1 else [act.input for act in acts],
        tuple(action for act in acts for action in _actions(act, event)),
        ok=all(act.ok for act in acts),
        ends=any(act.ends for act in acts),
        descriptions=tuple(place.description for place in record.places),
    )


def look_of(run: Run, event: Observed) -> Look | None:
    """Returns the look of an event; None if its picture is missing."""
    image = run.image(event.image)
    if image is None:
        return None
    elements_file = run.folder / ELEMENTS / Path(f"{event.elements_sha256}.json").name
    size = Size(event.screen_width, event.screen_height)
    return Look(image, size, event.window, elements_file if event.elements_sha256 else None)


def _actions(act: Acted, event: Observed) -> tuple[Action, ...]:
    """Returns the actions of an act in screen pixels; empty if it did not act on the screen."""
    if act.tool != "gui_action" or act.ends or not isinstance(act.input, str):
        return ()
    actions = parse(act.input)
    if slots(actions):  # a target that was not found
        return ()
    image, screen = Size(event.width, event.height), Size(event.screen_width, event.screen_height)
    return to_space(actions, "screen", image=image, screen=screen)
