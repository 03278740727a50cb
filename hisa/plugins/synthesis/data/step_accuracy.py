"""Shares of predicted steps that are of the right type, and wholly right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from hisa.actions import Action, Click, Drag, Hotkey, Press, Scroll, Write, parse, points
from hisa.errors import ActionRefused, UsageError
from hisa.plugins.synthesis.data.samples import Sample, Target
from hisa.plugins.synthesis.exploration import read_records

__all__ = ["Prediction", "Share", "accuracy", "compare", "read_predictions"]

_NEAR = 0.14
"""Of the picture's width: the distance within which a point without a box is right, as in
AndroidControl's measure, which OS-Genesis uses (A)."""


class Prediction(BaseModel):
    """A line of a file of predictions: a sample's id and the action, or a reply that ends in it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Annotated[str, Field(max_length=200)]
    action: Annotated[str, Field(max_length=20_000)]


class Share(NamedTuple):
    """How many of how many are right, with Wilson's 95% interval (E. B. Wilson, 1927), 0..1."""

    right: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds; 0 and 1 where nothing was counted."""
        if not self.of:
            return 0.0, 1.0
        z, rate, n = 1.96, self.right / self.of, self.of
        middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
        spread = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
        return max(0.0, middle - spread), min(1.0, middle + spread)

    def __str__(self) -> str:
        low, high = self.interval
        rate = f"{self.right / self.of:.1%}" if self.of else "none"
        return f"{self.right} of {self.of} ({rate}; {low:.1%} to {high:.1%})"


def read_predictions(path: Path) -> dict[str, str]:
    """The actions of a file of JSON lines, by sample.

    Raises:
        UsageError: there is no file, a line is no prediction, or a sample comes twice.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file", fix='lines of {"id": …, "action": …}')
    if path.stat().st_size > 1 << 30:
        raise UsageError(f"{path}: more than a gigabyte")
    lines = read_records(path, Prediction)
    actions = {line.id: line.action for line in lines}
    if len(actions) < len(lines):
        raise UsageError(f"{path}: a sample is predicted twice")
    return actions


def accuracy(samples: Sequence[Sample], predictions: Mapping[str, str]) -> dict[str, Share]:
    """The shares of samples predicted with the right type, and wholly right; others are wrong.

    Raises:
        UsageError: a prediction is for none of the samples.
    """
    for name in set(predictions) - {sample.id for sample in samples}:
        raise UsageError(f"prediction for {name[:200]!r}: no such sample among those evaluated")
    verdicts = [compare(predictions.get(sample.id, ""), sample) for sample in samples]
    total = len(samples)
    return {
        "type": Share(total - verdicts.count("wrong"), total),
        "right": Share(verdicts.count("right"), total),
    }


def compare(predicted: str, sample: Sample) -> Literal["right", "type", "wrong"]:
    """Compare an action, in pixels of the picture, with a sample's.

    Right: of the same types in the same order, each point in the box of the element hit (without
    a box, within 14% of the picture's width), text, keys, button and direction equal. type: only
    the types are right.
    """
    predicted = predicted.rpartition("Action:")[2].strip().removeprefix("```python").strip("`\n ")
    if sample.tool != "gui_action":
        if predicted.partition("(")[0].strip() != sample.tool:
            return "wrong"
        ends = sample.tool in ("termination", "infeasible")  # the words to end with are free
        return "right" if ends or predicted == sample.action else "type"
    try:
        actions = parse(predicted)
    except ActionRefused:
        return "wrong"
    expected = sample.actions
    if [_type(action) for action in actions] != [_type(action) for action in expected]:
        return "wrong"
    here, there = points(actions), sample.targets
    places = len(here) == len(there) and all(
        _hits((point.x, point.y), target, sample.size[0])
        for point, target in zip(here, there, strict=True)
    )
    equal = all(_equal(a, b) for a, b in zip(actions, expected, strict=True))
    return "right" if places and equal else "type"


def _type(action: Action) -> str:
    match action:
        case Click(button=button, count=count):
            return f"click {button} {count}"
        case Scroll(dy=dy):
            return "scroll" if dy else "scroll sideways"
    return action.kind


def _equal(action: Action, other: Action) -> bool:
    match action, other:
        case Write(), Write():
            return action.text == other.text
        case Press(), Press():
            return (action.key, action.presses) == (other.key, other.presses)
        case Hotkey(), Hotkey():
            return [key.casefold() for key in action.keys] == [k.casefold() for k in other.keys]
        case Scroll(), Scroll():
            return (action.dy > 0, action.dx > 0) == (other.dy > 0, other.dx > 0)
        case Drag(), Drag():
            return action.button == other.button
    return True


def _hits(point: tuple[float, float], target: Target, width: int) -> bool:
    element = target.element
    if element is not None:
        return element.holds(point)
    return math.dist(point, target.point) <= _NEAR * width
