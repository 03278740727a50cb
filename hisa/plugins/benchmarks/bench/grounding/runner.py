"""Asks a grounder for every target of a suite, and judges its answers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from pydantic import BaseModel

from hisa.actions import parse
from hisa.errors import NotFound
from hisa.plugins.benchmarks.bench.grounding.grounding_methods import Way
from hisa.plugins.benchmarks.bench.grounding.targets import Target
from hisa.protocols import Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Observation
from hisa.screen.sight import see_elements

__all__ = ["Answer", "Corners", "Outcome", "Shown", "answers"]

_SOURCE = "pyautogui.click(X_COORD, Y_COORD)"
_ACTIONS = parse(_SOURCE)

Outcome = Literal["right", "wrong", "refused"]
Corners = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the screen."""


class Answer(BaseModel):
    """A grounder's answer for one target; coordinates are pixels of the screen."""

    target: str
    screen: str
    app: str
    split: str
    kind: str
    domains: tuple[str, ...] = ()
    """See `hisa.plugins.benchmarks.bench.grounding.targets.Target`."""
    description: str
    box: Corners | None
    """None: it is not on the screen."""
    inner: Corners | None = None
    """The only part of the box where a click is right."""
    outcome: Outcome
    point: tuple[float, float] | None = None
    source: str = ""
    """Who found it: accessibility, ocr or a model's name."""
    label: str = ""
    score: float | None = None
    reason: str = ""
    """Why it was refused."""
    candidates: tuple[str, ...] = ()
    seconds: float = 0.0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def present(self) -> bool:
        """Whether the thing is on the screen."""
        return self.box is not None

    @property
    def missed(self) -> bool:
        """Whether an agent would have been led astray or held up without need."""
        return self.outcome == "wrong" or (self.present and self.outcome == "refused")


@dataclass(frozen=True)
class Shown:
    """The part of a saved screen that grounders get.

    Attributes:
        limit: the largest picture, in pixels; None: screens as they were saved.
        elements: whether they get the accessibility tree, as on a machine that has one.
    """

    limit: Size | None = None
    elements: bool = True

    def look(self, target: Target) -> Observation:
        """Returns the look at a target's screen; without the tree, as a run would see it.

        Raises:
            OcrUnavailable: the text on it cannot be read.
        """
        observation = target.screen.look(self.limit)
        return observation if self.elements else see_elements(replace(observation, elements=None))


async def answers(targets: Iterable[Target], way: Way, shown: Shown) -> AsyncIterator[Answer]:
    """Yields one answer per target, screen by screen.

    Args:
        targets: the targets to ask for.
        way: the grounding method to measure.
        shown: the part of each screen that it gets.

    Raises:
        UsageError: a picture cannot be read.
        ModelUnavailable, BudgetExceeded: from the grounder's model.
    """
    ordered = sorted(targets, key=lambda target: target.screen.name)
    for _, group in groupby(ordered, key=lambda target: target.screen.name):
        observation: Observation | None = None
        for target in group:
            observation = observation or shown.look(target)
            yield await _answer(target, way, observation)


async def _answer(target: Target, way: Way, observation: Observation) -> Answer:
    way.aim(target, observation)
    before = way.spent.calls, way.spent.tokens_in, way.spent.tokens_out
    started = time.monotonic()
    place, reason, candidates = await _resolve_description(
        target.description, way, way.select_visible(observation)
    )
    seconds = time.monotonic() - started
    point = None if place is None else _compute_click_point(place, observation)
    region = target.region
    return Answer(
        target=target.id,
        screen=target.screen.name,
        app=target.screen.app,
        split=target.screen.split,
        kind=target.kind,
        domains=target.domains,
        description=target.description,
        box=None if region is None else _corners(region.box),
        inner=None if region is None or region.inner is None else _corners(region.inner),
        outcome=_outcome(target, point),
        point=None if point is None else (point.x, point.y),
        source="" if place is None else place.source,
        label="" if place is None else place.label,
        score=None if place is None else place.score,
        reason=reason,
        candidates=candidates,
        seconds=seconds,
        calls=way.spent.calls - before[0],
        tokens_in=way.spent.tokens_in - before[1],
        tokens_out=way.spent.tokens_out - before[2],
    )


def _compute_click_point(place: Place, observation: Observation) -> Point:
    """Returns the pixel of the screen that a click on the place hits."""
    return Point(*observation.convert(place.point, "screen").to_pixels(), "screen")


async def _resolve_description(
    description: str, way: Way, look: Observation
) -> tuple[Place | None, str, tuple[str, ...]]:
    """Returns the place, or None, why it was refused, and the candidates there were."""
    call = ToolCall("", "gui_action", _SOURCE, description, actions=_ACTIONS)
    try:
        grounded = await way.grounder.resolve(call, look)
    except NotFound as error:
        return None, str(error), error.candidates
    return grounded.places[0], "", ()


def _outcome(target: Target, point: Point | None) -> Outcome:
    """Right is a point on the thing; any point for a thing that is not there is wrong."""
    if point is None:
        return "refused"
    return "right" if target.region is not None and target.region.holds(point) else "wrong"


def _corners(box: BoundingBox) -> Corners:
    return box.left, box.top, box.right, box.bottom
