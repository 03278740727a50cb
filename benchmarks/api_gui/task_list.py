"""The tasks of the bench, with what the scripted planner does in either way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.api_gui.api_scripts import OWN_BY_API, SHEETS_BY_API
from benchmarks.api_gui.gui_scripts import SHEETS_BY_GUI
from benchmarks.api_gui.own_scripts import OWN_BY_GUI
from benchmarks.api_gui.player import Move
from benchmarks.api_gui.trial import Way

__all__ = ["DATA", "Pair", "pairs"]

_HERE = Path(__file__).parent
DATA = _HERE.parents[1] / "tests/data/spider2v"
"""The ten tasks, their workbooks and their expected workbooks, as published."""


@dataclass(frozen=True)
class Pair:
    """A task, and its two scripts."""

    name: str
    path: Path
    moves: Mapping[Way, Sequence[Move]]
    tutorial: int
    """Steps of the expert's tutorial that Spider2-V has for it; 0: it is ours."""


def pairs(data: Path) -> list[Pair]:
    """The tasks, those of Spider2-V first.

    Args:
        data: the folder that holds ``evaluation_examples``.
    """
    listed = []
    for name, moves in SHEETS_BY_GUI.items():
        path = next(data.glob(f"evaluation_examples/examples/excel/{name}*/{name}*.json"))
        tutorial = json.loads(path.read_text())["action_number"]
        listed.append(Pair(name, path, _by_way(moves, SHEETS_BY_API[name]), tutorial))
    for name, moves in OWN_BY_GUI.items():
        path = _HERE / f"tasks/{name}.yaml"
        listed.append(Pair(name, path, _by_way(moves, OWN_BY_API[name]), 0))
    return listed


def _by_way(gui: Sequence[Move], api: Sequence[Move]) -> Mapping[Way, Sequence[Move]]:
    """Tools that are looked up are called as those that are known; the player adds the looks."""
    return {"gui": gui, "api": api, "found": api}
