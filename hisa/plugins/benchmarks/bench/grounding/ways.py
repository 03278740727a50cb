"""The ways to find a thing that a bench can measure: what each grounder sees and is made of."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from PIL import Image

from hisa.cli.out import say
from hisa.config import GrounderSettings, ModelsSettings, Settings
from hisa.errors import UsageError
from hisa.events import Event, ModelCalled, Noted
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models
from hisa.models.spending import Ledger, Totals
from hisa.plugins.benchmarks.bench.grounding.simulated import OF_ONE_MIND, SimulatedModel
from hisa.plugins.benchmarks.bench.grounding.targets import Target
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Grounder, Model, Role
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Observation, Screenshot
from hisa.screen.ocr import Line, OcrUnavailable, ReadText, read_text
from hisa.wiring import build_grounder

__all__ = ["WAYS", "ReadingClock", "Way", "open_way"]

WAYS = {
    "elements": "what runs without a model: accessibility, shapes and OCR",
    "elements-only": "accessibility alone",
    "ocr": "OCR alone: the elements are hidden, shapes are not looked for",
    "vision": "the model of models.grounder, as in a run",
    "cascade": "elements, and the model of models.grounder where they are not sure",
    "settings": "as the setting grounder.kind says",
    "simulated:P": "a model of that accuracy that knows the answers, as simulated:0.9",
    "cascade:P": "the cascade with that stand-in behind it",
    "choice": "elements, and the planner's model picks from a list where they are not sure",
    "choice:P": "the same with a stand-in that picks rightly in that part of 1",
    "cascade+choice:P": "the cascade, and that stand-in picks where the two disagree",
}
"""Names and what they mean."""


class ReadingClock:
    """Reads text, and counts how long that took and how many pictures were new.

    Args:
        read: reads; what it has read before costs nothing and is not counted as new.
    """

    def __init__(self, read: ReadText = read_text) -> None:
        self.seconds = 0.0
        self.readings: list[float] = []
        """Seconds of each reading of a picture, or a part of one, that was new."""
        self._read = read
        self._known: list[tuple[Screenshot, BoundingBox | None]] = []

    def __call__(self, screenshot: Screenshot, box: BoundingBox | None) -> tuple[Line, ...]:
        """Read; see `hisa.screen.ocr.read_text`. A reading that fails is not counted as one."""
        new = not any(seen is screenshot and part == box for seen, part in self._known)
        started = time.monotonic()
        try:
            lines = self._read(screenshot, box)
        finally:
            taken = time.monotonic() - started
            self.seconds += taken
        if new:
            self.readings.append(taken)
            self._known.append((screenshot, box))
        return lines

    def forget(self) -> None:
        """Let go of the pictures read so far: others are next."""
        self._known.clear()


def _unread(screenshot: Screenshot, box: BoundingBox | None) -> tuple[Line, ...]:
    raise OcrUnavailable("left out of this measurement")


def _as_it_is(observation: Observation) -> Observation:
    return observation


def _without_elements(observation: Observation) -> Observation:
    return replace(observation, elements=None)


def _aim_at_nothing(target: Target, look: Observation) -> None:
    """Nobody knows the answer."""


@dataclass
class Way:
    """A grounder, what it is shown of a look, and what it costs."""

    name: str
    grounder: Grounder
    shown: Callable[[Observation], Observation] = _as_it_is
    aim: Callable[[Target, Observation], None] = _aim_at_nothing
    clock: ReadingClock = field(default_factory=ReadingClock)
    spent: Totals = field(default_factory=Totals)


@asynccontextmanager
async def open_way(name: str, settings: Settings) -> AsyncIterator[Way]:
    """The way of that name; models that it opened are closed at the end.

    Raises:
        UsageError: there is none of that name.
        ConfigError, ModelUnavailable: its model cannot be opened.
        OcrUnavailable: it is to read and nothing here can.
    """
    kind, colon, chance = name.partition(":")
    if kind in _BEHIND and colon:
        picks, wanted = kind == "cascade+choice", _BEHIND[kind]
        model = _stand_in(name, chance, seed=settings.run.seed)
        async with _simulated(name, model, settings, kind=wanted, picks=picks) as way:
            yield way
    elif name in ("vision", "cascade", "choice", "settings"):
        wanted = settings.grounder.kind if name == "settings" else name
        async with _with_models(name, settings, {}, kind=wanted) as way:
            yield way
    elif name in WAYS:
        if name == "ocr":  # without a reader it would refuse everything, and look like bad reading
            read_text(Screenshot(Image.new("RGB", (8, 8))))
        yield _elements(name, settings.grounder)
    else:
        raise UsageError(
            f"--grounder {name!r}: no such way; known are {', '.join(WAYS)}",
            fix="--grounder elements",
        )


_BEHIND = {
    "simulated": "vision",
    "cascade": "cascade",
    "choice": "choice",
    "cascade+choice": "cascade",
}
"""Kinds of grounders by the ways with a stand-in."""


def _elements(name: str, settings: GrounderSettings) -> Way:
    clock = ReadingClock(_unread if name == "elements-only" else read_text)
    if name == "elements":
        wanted = settings.model_copy(update={"kind": "elements"})
        grounder = build_grounder(wanted, ModelsSettings(), {}, _ignored, read=clock)
        return Way(name, grounder, clock=clock)
    grounder = ElementsGrounder(
        emit=_ignored, min_score=settings.min_score, read=clock, shapes=False
    )
    shown = _without_elements if name == "ocr" else _as_it_is
    return Way(name, grounder, shown, clock=clock)


def _ignored(event: Event) -> Event:
    return event


def _stand_in(name: str, text: str, *, seed: int) -> SimulatedModel:
    """The stand-in of ``P`` or ``P:S``."""
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 2 or not all(0 <= number <= 1 for number in numbers):
        kind = name.partition(":")[0]
        raise UsageError(
            f"--grounder {name!r}: a part of 1 must follow the colon, and another may follow that:"
            " how often a second look repeats the first",
            fix=f"--grounder {kind}:0.9, or {kind}:0.9:{OF_ONE_MIND:g}",
        )
    return SimulatedModel(*numbers, seed=seed)


@asynccontextmanager
async def _simulated(
    name: str, model: SimulatedModel, settings: Settings, *, kind: str, picks: bool
) -> AsyncIterator[Way]:
    own: dict[Role, Model] = {"planner": model, "grounder": model}  # no other model is opened
    wanted = {"kind": kind, "format": "gta1"}
    async with _with_models(name, settings, own, hear=model.hear, picks=picks, **wanted) as way:
        way.aim = lambda target, look: model.aim(
            f"{target.screen.name}\0{target.description}", target.region, look
        )
        yield way


@asynccontextmanager
async def _with_models(
    name: str,
    settings: Settings,
    own: dict[Role, Model],
    *,
    hear: Callable[[Event], None] = lambda _: None,
    picks: bool = False,
    **changes: str,
) -> AsyncIterator[Way]:
    spent, clock = Totals(), ReadingClock()

    def emit(event: Event) -> Event:
        hear(event)
        if isinstance(event, ModelCalled):
            spent.add(event)
        elif isinstance(event, Noted):
            say(f"{event.where}: {event.text}", err=True)
        return event

    budget = Budget(settings.run.budget_usd, settings.run.budget_tokens)
    models: Models = open_models(settings.models, settings.planner, emit, budget, Ledger(), own=own)
    async with models:
        seer = models.profiles.get("grounder")
        picker = models.profiles["planner"] if picks else None
        wanted = settings.grounder.model_copy(update=changes)
        grounder = build_grounder(
            wanted, settings.models, models, emit, seer=seer, picker=picker, read=clock
        )
        yield Way(name, grounder, clock=clock, spent=spent)
