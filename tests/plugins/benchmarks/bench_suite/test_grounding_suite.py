"""The suite of the grounding bench: its screens and targets fit each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SUITE = Path(__file__).parents[4] / "benchmarks" / "grounding"
SCREENS = sorted(path.stem for path in (SUITE / "screens").glob("*.json"))
"""Levels by which the colours of a box differ where anything is drawn on it."""


def _screen(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SUITE / "screens" / f"{name}.json").read_text("utf-8"))
    return loaded


def test_no_application_is_in_both_splits() -> None:
    apps: dict[str, set[str]] = {"train": set(), "held": set()}
    for name in SCREENS:
        screen = _screen(name)
        apps[screen["split"]].add(screen["app"])
    assert not apps["train"] & apps["held"]
