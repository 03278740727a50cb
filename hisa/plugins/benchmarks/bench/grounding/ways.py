"""The ways to find a thing that a bench can measure: what each grounder sees and is made of."""

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
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Grounder
from hisa.screen.observation import Observation, Screenshot
from hisa.screen.ocr import read_text
from hisa.wiring import build_grounder

__all__ = ["Way", "open_way"]

_KINDS = ("vision", "cascade", "choice")


@dataclass
class Way:
    """A grounder, what it is shown of a look, and what it costs."""

    grounder: Grounder
    shown: Callable[[Observation], Observation] = lambda look: look
    spent: Totals = field(default_factory=Totals)


@asynccontextmanager
async def open_way(name: str, settings: Settings) -> AsyncIterator[Way]:
    """Yields the way of that name; models that it opened are closed at the end.

    Raises:
        UsageError: there is none of that name.
        ConfigError, ModelUnavailable: its model cannot be opened.
        OcrUnavailable: it is to read and nothing here can.
    """
    if name in (*_KINDS, "settings"):
        wanted = settings.grounder.kind if name == "settings" else name
        async with _with_models(settings, kind=wanted) as way:
            yield way
    elif name == "elements":
        chosen = settings.grounder.model_copy(update={"kind": "elements"})
        yield Way(build_grounder(chosen, ModelsSettings(), {}, _ignored))
    elif name == "ocr":
        yield _ocr(settings.grounder)
    else:
        known = ", ".join(("elements", "ocr", *_KINDS, "settings"))
        raise UsageError(
            f"--grounder {name!r}: no such way; known are {known}", fix="--grounder elements"
        )


def _ocr(settings: GrounderSettings) -> Way:
    # Without a reader it would refuse everything, and look like bad reading.
    read_text(Screenshot(Image.new("RGB", (8, 8))))
    grounder = ElementsGrounder(emit=_ignored, min_score=settings.min_score, shapes=False)
    return Way(grounder, lambda look: replace(look, elements=None))


def _ignored(event: Event) -> Event:
    return event


@asynccontextmanager
async def _with_models(settings: Settings, *, kind: str) -> AsyncIterator[Way]:
    spent = Totals()

    def emit(event: Event) -> Event:
        if isinstance(event, ModelCalled):
            spent.add(event)
        elif isinstance(event, Noted):
            say(f"{event.where}: {event.text}", err=True)
        return event

    budget = Budget(settings.run.budget_usd, settings.run.budget_tokens)
    models: Models = open_models(settings.models, settings.planner, emit, budget, Ledger())
    async with models:
        seer = models.profiles.get("grounder")
        wanted = settings.grounder.model_copy(update={"kind": kind})
        grounder = build_grounder(wanted, settings.models, models, emit, seer=seer)
        yield Way(grounder, spent=spent)
