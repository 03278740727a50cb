"""Samples of runs, one per step, and the rows that a model is trained on.

A sample holds (s, h, c, l, a) of OS-Genesis, 4.2; rows are the paper's objectives as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal

from hisa.actions import Action, parse, points
from hisa.errors import ActionRefused
from hisa.plugins.synthesis.records import Record
from hisa.screen.geometry import BoundingBox, Point

__all__ = [
    "Provenance",
    "Row",
    "Sample",
    "SampledElement",
    "Target",
    "by_run",
    "rows",
]

LAST = 5  # L of OS-Catalyst, 3.4: steps of history with pictures
Objective = Literal["planning", "action", "sequence"]
_ELEMENTS = 80  # in a prompt, chosen by hand: some 1,200 tokens
Sides = tuple[float, float, float, float]


class SampledElement(Record):
    """A visible element; ``box`` is left, top, right, bottom in pixels of the picture."""

    role: str
    name: str = ""
    text: str = ""
    box: Sides

    def holds(self, point: tuple[float, float]) -> bool:
        """Whether a point lies inside."""
        return BoundingBox(*self.box).contains(Point(*point))

    def fits_on(self, size: tuple[int, int]) -> bool:
        """Whether its box has an area and lies on the picture, give or take a pixel of rounding."""
        left, top, right, bottom = self.box
        inside = left >= -1 and top >= -1 and right <= size[0] + 1 and bottom <= size[1] + 1
        return inside and right - left >= 1 and bottom - top >= 1


class Target(Record):
    """A place that an act hits: its point, and the element there if one is known."""

    point: tuple[float, float]
    element: SampledElement | None = None


class Provenance(Record):
    """Origin of a sample, and the licence under which it may be used."""

    run: str
    task: str
    source: str  # of the task: a benchmark, a page suite, or "own"
    model: str
    machine: str
    hisa: str
    licence: str
    score: float | None = None


class Sample(Record):
    """A step of a trajectory; boxes, points and ``action`` are in pixels of the picture."""

    id: str
    instruction: str  # h: the high-level instruction
    thought: str  # l: the low-level instruction
    tool: str
    action: str  # PyAutoGUI source, or tool(input as JSON)
    image: str  # the picture before: a file of the set's images
    after: str = ""
    size: tuple[int, int]  # width and height of the picture
    window: str = ""
    elements: tuple[SampledElement, ...] = ()
    targets: tuple[Target, ...] = ()
    step: int
    last: int  # of the steps that were merged into this one
    ends: bool = False
    copies: int = 1  # times that its trajectory was drawn
    provenance: Provenance

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions on the screen; none for another tool, or if the source is damaged."""
        try:
            return parse(self.action) if self.tool == "gui_action" else ()
        except ActionRefused:
            return ()

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The points of its actions, in order."""
        return tuple((point.x, point.y) for point in points(self.actions))


class Row(Record):
    """A prompt and its completion; ``<image>`` in the prompt stands for each of ``images``."""

    id: str
    sample: str
    objective: Objective
    prompt: str
    completion: str
    images: tuple[str, ...]
    provenance: Provenance


def by_run(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Returns the samples of each run, in order."""
    runs: dict[str, list[Sample]] = {}
    for sample in samples:
        runs.setdefault(sample.provenance.run, []).append(sample)
    return runs


def rows(samples: Iterable[Sample], only: Collection[str] = ()) -> Iterator[Row]:
    """Yields rows of all objectives, or only of some; a trajectory drawn twice gives each twice.

    planning: log p(l | s, h, c) + log p(a | s, h, c, l), equation 1 of OS-Genesis: the completion
    is l, then a. action: log p(a | s, c, l), equation 2, without h. sequence: planning with the
    looks, thoughts and actions of the last `LAST` steps (OS-Catalyst, 3.4).
    """
    for steps in by_run(samples).values():
        for index, sample in enumerate(steps):
            for row in _rows(sample, steps[:index]):
                for copy in range(sample.copies if not only or row.objective in only else 0):
                    yield row.model_copy(update={"id": f"{row.id}+{copy}"})


def _rows(sample: Sample, before: Sequence[Sample]) -> Iterator[Row]:
    def row(objective: Objective, prompt: str, completion: str, **more: Any) -> Row:
        """Returns a row: ``prompt`` and ``completion`` of an ``objective``, with its images."""
        more = {"id": f"{sample.id}#{objective}", "images": (sample.image,)} | more
        own = {"sample": sample.id, "provenance": sample.provenance}
        return Row(objective=objective, prompt=prompt, completion=completion, **own, **more)

    task = f"Task: {_plain(sample.instruction)}"
    thought, action = f"Thought: {_plain(sample.thought)}", f"Action: {_plain(sample.action)}"
    state = f"<image>\n{_state(sample)}"
    thoughts = (f"{number}. {_plain(step.thought)}" for number, step in enumerate(before, 1))
    history = "\n".join(("Done so far:", *thoughts)) if before else "Nothing is done yet."
    question = "Say the next thought, then the action."
    thought_and_action = f"{thought}\n{action}"
    yield row("planning", f"{task}\n{history}\n{state}\n{question}", thought_and_action)
    yield row("action", f"{history}\n{state}\n{thought}\nSay the action.", action)
    looks, images = "", [step.image for step in (*before[-LAST:], sample)]
    for step in before[-LAST:]:
        looks += f"<image>\nThought: {_plain(step.thought)}\nAction: {_plain(step.action)}\n"
    yield row("sequence", f"{task}\n{looks}{state}\n{question}", thought_and_action, images=images)


def _plain(text: str) -> str:
    """Returns a text without the mark that stands for a picture."""
    return re.sub("<(image|video|audio)>", r"<\1 >", text)


def _state(sample: Sample) -> str:
    """Returns the visible elements in words, without those that have no name or text."""
    lines = [f"Window: {_plain(sample.window)}"]
    for element in sample.elements:
        if words := " ".join((element.name or element.text).split())[:120]:
            sides = [*map(round, element.box)]
            lines.append(f"{element.role} {json.dumps(words, ensure_ascii=False)} {sides}")
    return _plain("\n".join(lines[: _ELEMENTS + 1]))
