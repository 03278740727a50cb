"""Episodes of runs that were made before, for cloning.

A step counts where its act is a click on a listed element, a word of the instruction typed into
one, or the end; a run with another step is refused.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from hisa.actions import Click, Hotkey, Press, Write, parse
from hisa.errors import UsageError
from hisa.plugins.training.base import Act, Draw, Episode, Sample
from hisa.plugins.training.machine_rollouts import no_sample
from hisa.plugins.training.pointer_features import features, instruction_words
from hisa.plugins.training.pointer_planner import look_of
from hisa.runs.element_files import read_elements
from hisa.runs.run_reader import ELEMENTS, Run, load_run
from hisa.runs.step_records import StepRecord
from hisa.screen.geometry import Point, Size, convert
from hisa.screen.observation import Observation, Screenshot

__all__ = ["recorded_episode"]

_NO_PICTURE = Screenshot(Image.new("RGB", (1, 1)))


def recorded_episode(folder: Path) -> Episode:
    """Returns the episode of a run folder; it has no log-probabilities.

    Raises:
        UsageError: the run is damaged, did not end, or a step is no act of a pointer.
    """
    run = load_run(folder)
    if not run.ended or run.status == "stopped":
        raise _unusable("its run did not come to an end")
    failure = no_sample(run.status, run.last_step, run.score, run.message or run.scoring.detail)
    return Episode(
        Draw(run.manifest.task.id, run.manifest.seed),
        () if failure else tuple(_sample(run, record) for record in run.steps),
        None if failure else run.score,
        run.success and not failure,
        truncated=run.status == "max_steps",
        failure=failure,
        policy=run.manifest.models.get("planner", ""),
    )


def _unusable(reason: str) -> UsageError:
    return UsageError(reason, fix="record runs with --model pointer:FILE")


def _sample(run: Run, record: StepRecord) -> Sample:
    """The act of a step, on the look that was kept of it."""
    look, instruction = record.before, run.manifest.task.instruction
    if len(record.acts) != 1 or look is None or not look.elements_sha256:
        raise _unusable("a step is not one act on a look with elements")
    elements = read_elements(run.folder / ELEMENTS / f"{Path(look.elements_sha256).name}.json")
    size, acted = Size(look.screen_width, look.screen_height), record.acts[0]
    screen = Observation(_NO_PICTURE, size, elements=elements)
    if acted.ends == "succeeded":
        return Sample(look_of(screen, instruction)[0], Act("done"))
    if not acted.ok or acted.tool != "gui_action":
        raise _unusable(f"a step is no act on an element: {acted.tool}")
    at, text = _read_click(str(acted.input))
    if at is not None:
        at = convert(at, "screen", screen=size, image=Size(look.width, look.height))
    return _pointing(screen, instruction, at, text)


def _read_click(source: str) -> tuple[Point | None, str | None]:
    """The point that source clicks, None for where the keyboard is, and the text it types."""
    match list(parse(source)):
        case [Click(at=Point() as at, button="left", count=1)]:
            return at, None
        case [Click(at=Point() as at, button="left"), *between, Write(text)] if all(
            action in (Hotkey(("ctrl", "a")), Press("end")) for action in between
        ):
            return at, text
        case [Write(text)]:
            return None, text
    raise _unusable("a step is no click and no typing")


def _pointing(screen: Observation, instruction: str, at: Point | None, text: str | None) -> Sample:
    """An act on the smallest element at a point of the screen, or on what has the keyboard."""
    (look, area), candidates = look_of(screen, instruction), list[tuple[float, int]]()
    for index, item in enumerate(look.items):
        (left, top, width, height), holds = item.box, item.focused
        if at is not None:
            x, y = (at.x - area.left) / area.width, (at.y - area.top) / area.height
            holds = left <= x <= left + width and top <= y <= top + height
        if holds:
            candidates.append((width * height, index))
    if not candidates:
        raise _unusable("a step acts where no element is listed")
    index, words = min(candidates)[1], instruction_words(instruction)
    act = Act("click", index)
    if text is not None:
        act = Act("type", index, words.index(text) if text in words else -1)
    if not features(look).allows(act):
        raise _unusable("a step types no word of the instruction into a field")
    return Sample(look, act)
