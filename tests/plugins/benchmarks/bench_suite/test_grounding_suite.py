"""The suite of the grounding bench: its screens and targets fit each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

SUITE = Path(__file__).parents[4] / "benchmarks" / "grounding"
SCREENS = sorted(path.stem for path in (SUITE / "screens").glob("*.json"))
KINDS = {
    "name", "role", "value", "neighbour", "position", "function", "icon", "row", "cell", "spin",
    "slider", "calendar", "state", "group", "absent",
}  # fmt: skip
FLAT = 4
"""Levels by which the colours of a box differ where anything is drawn on it."""


def _targets() -> list[dict[str, Any]]:
    files = [SUITE / "targets.jsonl", *sorted((SUITE / "targets").glob("*.jsonl"))]
    lines = (
        line for file in files if file.exists() for line in file.read_text("utf-8").split("\n")
    )
    return [json.loads(line) for line in lines if line]


def _screen(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SUITE / "screens" / f"{name}.json").read_text("utf-8"))
    return loaded


TARGETS = _targets()


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_whole_and_as_large_as_its_picture(name: str) -> None:
    screen = _screen(name)
    assert screen["complete"] is True
    assert screen["split"] in {"train", "held"}
    assert screen["about"]
    assert screen["elements"]
    assert sum(window["active"] for window in screen["windows"]) == 1
    with Image.open(SUITE / "screens" / f"{name}.png") as picture:
        assert list(picture.size) == screen["screen"]
    assert (SUITE / "screens" / f"{name}.png").stat().st_size < 150_000


def test_no_application_is_in_both_splits() -> None:
    apps: dict[str, set[str]] = {"train": set(), "held": set()}
    for name in SCREENS:
        screen = _screen(name)
        apps[screen["split"]].add(screen["app"])
    assert not apps["train"] & apps["held"]


def test_every_target_is_of_a_screen_and_a_known_kind() -> None:
    assert {target["screen"] for target in TARGETS} == set(SCREENS)
    assert {target["kind"] for target in TARGETS} <= KINDS
    for target in TARGETS:
        assert set(target) <= {"screen", "kind", "description", "box", "point"}
        assert target["description"] == target["description"].strip() != ""


def test_what_is_absent_has_no_box_and_the_rest_has() -> None:
    for target in TARGETS:
        assert (target["kind"] == "absent") == (target["box"] is None), target


@pytest.mark.parametrize("split", ["train", "held"])
def test_enough_of_a_split_is_absent(split: str) -> None:
    of = {name: _screen(name)["split"] for name in SCREENS}
    kinds = [target["kind"] for target in TARGETS if of[target["screen"]] == split]
    assert kinds.count("absent") / len(kinds) >= 0.07


@pytest.mark.parametrize("name", SCREENS)
def test_a_box_lies_on_the_screen_and_shows_something(name: str) -> None:
    with Image.open(SUITE / "screens" / f"{name}.png") as stored:
        picture = stored.convert("RGB")
    for target in TARGETS:
        if target["screen"] != name or target["box"] is None:
            continue
        left, top, right, bottom = _edges(target["box"])
        assert 0 <= left < right <= picture.width, target
        assert 0 <= top < bottom <= picture.height, target
        assert not _is_flat(picture, (left, top, right, bottom)), target
        if "point" in target:
            inner = _edges(target["point"])
            assert left <= inner[0] < inner[2] <= right, target
            assert top <= inner[1] < inner[3] <= bottom, target


def _edges(box: list[int]) -> tuple[int, int, int, int]:
    left, top, width, height = box
    return left, top, left + width, top + height


def _is_flat(picture: Image.Image, edges: tuple[int, int, int, int]) -> bool:
    """Whether the box and the two pixels around it are of one colour; an empty cell has a frame."""
    left, top, right, bottom = edges
    around = (left - 2, top - 2, right + 2, bottom + 2)
    inside = (
        max(around[0], 0),
        max(around[1], 0),
        min(around[2], picture.width),
        min(around[3], picture.height),
    )
    ranges = picture.crop(inside).getextrema()
    return all(high - low < FLAT for low, high in ranges)  # type: ignore[misc]
