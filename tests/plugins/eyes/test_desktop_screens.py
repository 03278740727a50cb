"""Which elements of a desktop count as seen, and what a real program's screen comes out as."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hisa.plugins.eyes.detector import ROLES, STATES
from hisa.plugins.eyes.training import desktop_screens
from hisa.plugins.eyes.training.desktop_truth import LISTS, Stack, describe_screen
from hisa.plugins.eyes.training.training_screens import Row
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Screenshot, Window

NOISE = np.random.default_rng(0).integers(0, 256, (100, 200, 3), np.uint8)
TITLE_BUTTON = [62, 2, 78, 18]
STACK: Stack = [[[0, 0, 100, 100], [1], []], [[60, 0, 160, 100], [2], [[9, TITLE_BUTTON]]]]


def _element(role: str, box: tuple[int, int, int, int], parent: int, name: str = "") -> Element:
    place, states = BoundingBox(*box, "screen"), frozenset({"enabled", "editable"})
    return Element(role, name, place, states=states, window="low", parent=parent)


def _describe(*elements: Element, pixels: np.ndarray = NOISE) -> list[Row]:
    low = _element("frame", (0, 0, 100, 100), parent=-1)
    high = replace(low, box=BoundingBox(60, 0, 160, 100, "screen"), window="high")
    windows = Window("0x1", "low", "low", low.box), Window("0x2", "high", "high", high.box)
    picture = Screenshot(Image.fromarray(pixels))
    look = Observation(picture, picture.size, windows, (low, *elements, high))
    return describe_screen(look, STACK, 12)


def test_what_another_window_covers_is_clipped_or_left_out() -> None:
    partly, covered = (_element("text", (x, 30, 80, 50), parent=0) for x in (10, 50))
    assert [row["box"] for row in _describe(partly, covered)] == [[10, 30, 60, 50], TITLE_BUTTON]


def test_what_shows_nothing_is_left_out() -> None:
    assert not _describe(_element("push button", (9, 9, 50, 50), 0), pixels=np.zeros_like(NOISE))


def test_the_parts_of_a_combo_box_are_no_things_of_their_own() -> None:
    rows = _describe(*(_element(r, (5, 5, 55, 25), n) for n, r in enumerate(("combo box", "text"))))
    assert [row["role"] for row in rows] == ["combo box", "icon"]


def test_a_button_too_narrow_for_its_name_is_an_icon() -> None:
    boxes = (5, 5, 30, 30), (5, 40, 55, 60)
    rows = _describe(*(_element("push button", box, parent=0, name="Open") for box in boxes))
    assert [row["role"] for row in rows] == ["icon", "button", "icon"]


@pytest.mark.process
def test_what_is_kept_out_is_in_no_training_stage() -> None:
    for seed in "abcdefghij":
        train, kept = (desktop_screens.plan_stage(seed, name) for name in ("train", "kept"))
        assert {item.get("split", "train") for item in train["programs"]} == {"train"}
        assert {item["split"] for item in kept["programs"]} == {"kept"}
        for kit in ("gtk", "qt"):
            assert train["themes"][kit] not in LISTS["themes"][kit]["kept"]


@pytest.mark.desktop
@pytest.mark.process
@pytest.mark.skipif(not shutil.which("gtk3-widget-factory"), reason="needs gtk-3-examples")
async def test_screens_of_a_real_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LISTS, "programs", [{"package": "", "command": "gtk3-widget-factory"}])
    await desktop_screens.make_screens(tmp_path, "train", 1, 1)
    screen = json.loads((tmp_path / "screens.jsonl").read_text())
    roles = {row["role"] for row in screen["boxes"]}
    assert {"field", "combo box", "button"} <= roles <= set(ROLES)
    assert {state for row in screen["boxes"] for state in row["states"]} <= set(STATES)
    with Image.open(tmp_path / screen["file"]) as picture:
        assert picture.size == (screen["width"], screen["height"])
