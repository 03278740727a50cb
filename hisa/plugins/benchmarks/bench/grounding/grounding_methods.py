"""The grounding methods that a bench can measure: what each is made of, and what it sees."""

from __future__ import annotations

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
from hisa.plugins.benchmarks.bench.grounding.simulated_model import SimulatedModel
from hisa.plugins.benchmarks.bench.grounding.targets import Target
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Grounder, Model, Role
from hisa.screen.observation import Observation, Screenshot
from hisa.screen.ocr import read_text
from hisa.wiring import build_grounder

__all__ = ["WAYS", "Way", "open_way"]

WAYS = {
    "elements": "what runs without a model: accessibility, shapes and OCR",
    "ocr": "OCR alone: the elements are hidden, shapes are not looked for",
    "vision": "the model of models.grounder, as in a run",
    "cascade": "elements, and the model of models.grounder if they are not sure",
    "choice": "elements, and the planner's model picks from a list if they are not sure",
    "settings": "as the setting grounder.kind says",
    "choice:P": "choice with a simulated model, which is right with probability P",
}
"""Name to meaning."""
_KINDS = ("vision", "cascade", "choice")


@dataclass
class Way:
    """A grounder, the part of an observation that it is shown, and what it costs."""

    name: str
    grounder: Grounder
    select_visible: Callable[[Observation], Observation] = lambda observation: observation
    aim: Callable[[Target, Observation], None] = lambda target, look: None
    """Tells a simulated model which target comes next."""
    spent: Totals = field(default_factory=Totals)


@asynccontextmanager
async def open_way(name: str, settings: Settings) -> AsyncIterator[Way]:
    """Yields the method of that name; models that it opened are closed at the end.

    Raises:
        UsageError: there is no method of that name.
        ConfigError, ModelUnavailable: its model cannot be opened.
        OcrUnavailable: the method needs OCR, and none is installed.
    """
    kind, colon, chance = name.partition(":")
    if colon and kind == "choice":
        model = _stand_in(name, chance, seed=settings.run.seed)
        own: dict[Role, Model] = {"planner": model, "grounder": model}  # no other model is opened
        async with _with_models(name, settings, own, hear=model.hear, kind=kind) as way:
            way.aim = lambda target, observation: model.aim(
                f"{target.screen.name}\0{target.description}", target.region, observation
            )
            yield way
    elif name in (*_KINDS, "settings"):
        grounder_kind = settings.grounder.kind if name == "settings" else name
        async with _with_models(name, settings, {}, kind=grounder_kind) as way:
            yield way
    elif name == "elements":
        grounder_settings = settings.grounder.model_copy(update={"kind": "elements"})
        yield Way(name, build_grounder(grounder_settings, ModelsSettings(), {}, _ignore_event))
    elif name == "ocr":
        yield _ocr(name, settings.grounder)
    else:
        raise UsageError(
            f"--grounder {name!r}: no such method; known are {', '.join(WAYS)}",
            fix="--grounder elements",
        )


def _ocr(name: str, settings: GrounderSettings) -> Way:
    # Fails if there is no OCR: the method would refuse everything, as if it read badly.
    read_text(Screenshot(Image.new("RGB", (8, 8))))
    grounder = ElementsGrounder(emit=_ignore_event, min_score=settings.min_score, shapes=False)
    return Way(name, grounder, lambda observation: replace(observation, elements=None))


def _ignore_event(event: Event) -> Event:
    return event


def _stand_in(name: str, text: str, *, seed: int) -> SimulatedModel:
    """Returns the simulated model of ``choice:P``.

    Raises:
        UsageError: P is no number from 0 to 1.
    """
    try:
        chance = float(text)
    except ValueError:
        chance = -1.0
    if not 0 <= chance <= 1:
        raise UsageError(
            f"--grounder {name!r}: a number from 0 to 1 must follow the colon",
            fix="--grounder choice:0.9",
        )
    return SimulatedModel(chance, seed=seed)


@asynccontextmanager
async def _with_models(
    name: str,
    settings: Settings,
    own: dict[Role, Model],
    *,
    hear: Callable[[Event], None] = lambda _: None,
    kind: str,
) -> AsyncIterator[Way]:
    spent = Totals()

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
        grounder_settings = settings.grounder.model_copy(update={"kind": kind})
        grounder = build_grounder(grounder_settings, settings.models, models, emit, seer=seer)
        yield Way(name, grounder, spent=spent)
