"""Observations to ground on: one recorded from a real dialog, and one to build by hand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from hisa.actions import parse
from hisa.config import Settings
from hisa.events import Event, GroundingTried
from hisa.models.budget import Budget
from hisa.models.open_models import open_models
from hisa.models.spending import Ledger
from hisa.protocols import Grounder, ToolCall
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.screen.ocr import Line, ReadText
from hisa.wiring import build_grounder

DATA = Path(__file__).parent / "data"
IMAGE = Size(1280, 720)


def load_recorded(name: str, *, elements: bool = True) -> Observation:
    """A recorded screen: its picture, windows and, unless left out, elements."""
    screenshot = Screenshot.from_png((DATA / f"{name}.png").read_bytes())
    content = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    windows = tuple(
        Window(str(index), item["title"], item["app"], _box(item["box"]), item["active"])
        for index, item in enumerate(content["windows"])
    )
    tree = tuple(_element(item) for item in content["elements"]) if elements else None
    return Observation(screenshot, screenshot.size, windows, tree)


def _box(numbers: list[int]) -> BoundingBox:
    left, top, width, height = numbers
    return BoundingBox(left, top, left + width, top + height, "screen")


def _element(item: dict[str, Any]) -> Element:
    fields = {**item, "box": _box(item["box"]), "states": frozenset(item["states"])}
    return Element(**fields)


def element(role: str, name: str, at: tuple[int, int, int, int], **more: Any) -> Element:
    """An element at left, top, width, height of the screen."""
    return Element(role, name, _box(list(at)), **more)


def scene(
    *elements: Element,
    windows: tuple[Window, ...] = (),
    screen: Size = IMAGE,
    picture: Image.Image | None = None,
) -> Observation:
    """An observation of these elements; the picture is blank unless given."""
    image = picture or Image.new("RGB", (IMAGE.width, IMAGE.height), "white")
    return Observation(Screenshot(image), screen, windows, elements)


def behind_a_dialog() -> Observation:
    """A button "Print" that a dialog beside it keeps from being used."""
    shown = frozenset({"showing"})
    return scene(
        element(
            "dialog",
            "Question",
            (500, 0, 300, 300),
            app="a",
            window="Question",
            states=shown | {"modal"},
        ),
        element("push button", "Print", (100, 100, 60, 30), app="a", window="Letter", states=shown),
        windows=(Window("1", "Letter", "a"), Window("2", "Question", "a", active=True)),
    )


def call(description: str, source: str = "pyautogui.click(X_COORD, Y_COORD)") -> ToolCall:
    """A gui_action whose first slot is described."""
    return ToolCall("why", "gui_action", source, description, actions=parse(source))


SCREENS = Path(__file__).parent.parent.parent / "benchmarks" / "grounding" / "screens"


def load_saved(name: str) -> Observation:
    """A screen of the grounding bench that may be tuned on, in the size that a run sees."""
    content = json.loads((SCREENS / f"{name}.json").read_text("utf-8"))
    assert content["split"] == "train", f"{name} is there to be held out"
    picture = Screenshot.from_png((SCREENS / f"{name}.png").read_bytes())
    windows = tuple(Window(**{**w, "box": _box(w["box"])}) for w in content["windows"])
    elements = tuple(
        _element({"states": [], **item, "role": item["role"]}) for item in content["elements"]
    )
    return Observation(picture.fit_to(IMAGE), picture.size, windows, elements)


def nothing_to_read(screenshot: Screenshot, box: BoundingBox | None) -> tuple[Line, ...]:
    """A reader that finds no text."""
    return ()


@asynccontextmanager
async def open_grounder(
    models: dict[str, Any],
    events: list[Event],
    *,
    read: ReadText = nothing_to_read,
    before: Sequence[Event] = (),
) -> AsyncIterator[Grounder]:
    """The grounder that a run opens for these models."""
    settings = Settings.model_validate({"models": models})
    opened = open_models(
        settings.models, settings.planner, events.append, Budget(), Ledger(), environ={}
    )
    async with opened as by_role:
        yield build_grounder(
            settings.grounder,
            settings.models,
            by_role,
            events.append,
            seer=by_role.profiles["grounder"],
            read=read,
            events=before,
        )


def search_steps(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Who was asked in a search, and what came of it."""
    return [(e.by, e.verdict) for e in events if isinstance(e, GroundingTried)]
