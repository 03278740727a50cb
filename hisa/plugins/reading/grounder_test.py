"""Asks a grounder for places that are known, before it is let loose on a desktop.

A model that answers well in another convention than its format expects clicks wrong at every step
without a single error; here it hits nothing.
``hisa doctor --grounder`` asks for it, by the entry point ``doctor.grounder`` of ``hisa.commands``.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from PIL import Image, ImageDraw

from hisa.cli.findings import Finding
from hisa.cli.out import say
from hisa.config import GrounderKind, ModelSettings, ModelsSettings, Settings
from hisa.errors import NotFound, OperatorError, UsageError
from hisa.grounder.base import GroundingFormat
from hisa.grounder.choice import ask_pick
from hisa.grounder.formats import open_format
from hisa.grounder.trust import key_of
from hisa.models.announced_model import find_announced
from hisa.models.budget import Budget
from hisa.models.open_models import open_models
from hisa.models.profiles import find
from hisa.models.spending import Ledger
from hisa.plugins.reading.known_picks import Counts, known_lists, measure_picks, store_counts
from hisa.protocols import Model, ModelRequest
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Screenshot

__all__ = ["SelfTest", "Target", "drawn_screen", "grounder", "run_self_test"]

_WIDE, _HIGH = 44, 16
"""Half the width and height of a button, in pixels."""
_WORDS = ("Save", "Cancel", "Print", "Delete", "Open", "Search", "Export", "Help")
_PLACES = (
    (0.08, 0.09), (0.52, 0.14), (0.93, 0.06), (0.29, 0.38),
    (0.75, 0.45), (0.12, 0.81), (0.58, 0.88), (0.94, 0.95),
)  # fmt: skip
"""Parts of width and height. No two have x or y alike, so that no convention looks like another."""
_OTHER_FORMAT = "another grounder.format , or let the server keep pictures whole"


@dataclass(frozen=True)
class Target:
    """A drawn button: what it is called and where its middle is, in pixels of the picture."""

    description: str
    middle: Point


@dataclass(frozen=True)
class SelfTest:
    """What came of it.

    Attributes:
        asked: buttons that were asked for.
        refused: answers that the format could not read.
        error: median distance, in pixels, of the format's points; None where it read none.
        hits: points of the format that lie on their button.
    """

    questions: int
    refused: int
    error: float | None
    hits: int

    @property
    def ok(self) -> bool:
        """Whether the format reads the answers, and they lie on their buttons."""
        return self.hits * 4 >= self.questions * 3

    def describe(self, name: str) -> str:
        """The result in a sentence, for the format of that name."""
        text = f"{self.hits} of {self.questions} buttons hit by the format {name!r}"
        if self.error is not None:
            text += f", median error {self.error:.0f} px"
        if self.refused:
            text += f", {self.refused} answers not read"
        return text


def grounder(settings: Settings) -> Iterator[Finding]:
    """Ask the model that points for eight places, and the one that picks for thirty things."""
    pointing = _pointing_model(settings.models)
    picking = _picking_model(settings.models, settings.grounder.kind)
    points, picks = ("models", "grounder's points"), ("models", "grounder's picks")
    if pointing is None and picking is None:
        fix = "--set models.grounder.model=NAME --set models.grounder.base_url=http://HOST:PORT/v1"
        yield Finding(*points, False, True, "no models.grounder is set", fix)
    for model, test, area in ((pointing, _self_test, points), (picking, _picks_test, picks)):
        if model is None:
            continue
        try:
            yield asyncio.run(test(settings, model, area))
        except OperatorError as error:
            yield Finding(*area, False, True, str(error), error.fix)


def _pointing_model(models: ModelsSettings) -> ModelSettings | None:
    """The grounder's model, else the planner's where that was trained to point."""
    planner = models.planner
    trained = find(planner.model, planner.profile).grounding
    return models.grounder or (planner if trained else None)


def _picking_model(models: ModelsSettings, kind: GrounderKind) -> ModelSettings | None:
    """The model that picks from lists, where the settings want one and it is no model by rules."""
    planner = models.planner
    settings = models.grounder or planner if kind == "choice" else planner
    profile, brought = find(settings.model, settings.profile), find_announced(settings.model)
    picks = kind in ("auto", "cascade", "choice") and not (brought and brought.by_rules)
    points = profile.grounding and kind != "choice"
    return settings if picks and not (profile.reads_elements or points) else None


async def _picks_test(settings: Settings, picking: ModelSettings, area: tuple[str, str]) -> Finding:
    """Measure how well a model picks, unless its profile says so, and keep that for runs."""
    alone = ModelsSettings(planner=picking)
    async with open_models(alone, settings.planner, lambda _: None, Budget(), Ledger()) as models:
        model, profile = models["planner"], models.profiles["planner"]
        if profile.picks is not None:
            detail = f"{model.name}: right by {profile.picks:g}, says its profile {profile.name!r}"
            return Finding(*area, True, False, detail)
        lists = known_lists()
        say(f"{model.name} picks from {len(lists)} known lists", err=True)
        counts = await measure_picks(lists, partial(ask_pick, model))
    store_counts("picks", key_of(model.name, picking, profile), counts)
    trust = counts.picks()
    outcome = "it is not asked, the elements decide" if trust.right is None else "it is asked"
    return Finding(*area, trust.right is not None, False, f"{trust.words}; {outcome}")


async def _self_test(settings: Settings, pointing: ModelSettings, area: tuple[str, str]) -> Finding:
    brought = find_announced(pointing.model)
    if brought is not None and brought.by_rules:
        raise UsageError(
            "a model that follows rules points at nothing", fix="--set models.grounder.model=NAME"
        )
    async with open_models(
        ModelsSettings(planner=pointing), settings.planner, lambda _: None, Budget(), Ledger()
    ) as models:
        profile = models.profiles["grounder"]
        size = Size(settings.run.image_width, settings.run.image_height)
        form = open_format(settings.grounder.format, profile.coordinates, profile.grounding)
        result = await run_self_test(models["grounder"], form, size)
        key = key_of(models["grounder"].name, pointing, profile)
    store_counts("points", key, Counts(there=result.questions, right=result.hits, enough=result.ok))
    fix = "" if result.ok else _OTHER_FORMAT
    return Finding(*area, result.ok, True, result.describe(form.name), fix)


def drawn_screen(size: Size) -> tuple[Screenshot, tuple[Target, ...]]:
    """A plain screen with eight named buttons all over it."""
    picture = Image.new("RGB", (size.width, size.height), "#f4f4f4")
    draw = ImageDraw.Draw(picture)
    targets = []
    for word, (right, down) in zip(_WORDS, _PLACES, strict=True):
        x, y = round(right * size.width), round(down * size.height)
        box = (x - _WIDE, y - _HIGH, x + _WIDE, y + _HIGH)
        draw.rounded_rectangle(box, 5, fill="#ffffff", outline="#555")
        draw.text((x, y), word, fill="black", anchor="mm", font_size=16)
        targets.append(Target(f"the {word} button", Point(x, y)))
    return Screenshot(picture), tuple(targets)


async def run_self_test(model: Model, form: GroundingFormat, size: Size) -> SelfTest:
    """Ask for every button of a drawn screen, one request each.

    Args:
        model: serves the role ``grounder``.
        form: the format that is set.
        size: of the pictures that the grounder will get.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    screen, targets = drawn_screen(size)
    answers = []
    for target in targets:
        shown, messages = await asyncio.to_thread(form.prepare, screen, target.description)
        request = ModelRequest(
            "grounder", messages, max_tokens=max(form.max_tokens, 200), temperature=0.0
        )
        answers.append((await model.complete(request)).text)
    return _judge_answers(answers, targets, form, size=size, shown=shown)


def _judge_answers(
    answers: Sequence[str],
    targets: Sequence[Target],
    form: GroundingFormat,
    *,
    size: Size,
    shown: Size,
) -> SelfTest:
    errors, hits = [], 0
    for answer, target in zip(answers, targets, strict=True):
        try:
            point = form.parse(answer, shown)
        except NotFound:
            continue
        at = point.x * size.width / shown.width, point.y * size.height / shown.height
        errors.append(_distance(at, target))
        hits += _is_on(at, target)
    error = statistics.median(errors) if errors else None
    return SelfTest(len(targets), len(targets) - len(errors), error, hits)


def _distance(point: tuple[float, float], target: Target) -> float:
    x, y = point[0] - target.middle.x, point[1] - target.middle.y
    return float((x * x + y * y) ** 0.5)


def _is_on(point: tuple[float, float], target: Target) -> bool:
    x, y = abs(point[0] - target.middle.x), abs(point[1] - target.middle.y)
    return x <= _WIDE and y <= _HIGH
