"""Runs a task one way on a fresh private desktop, and counts what it took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import hisa
from benchmarks.api_gui import player
from hisa.actions import KeyDown, KeyUp, Move, Sleep, parse
from hisa.errors import HisaError
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.tools.registry import discover

__all__ = ["WAYS", "Outcome", "Way", "kits_lacking", "tried"]

Way = Literal["gui", "api", "found"]
WAYS: tuple[Way, ...] = ("gui", "api", "found")
"""The GUI alone; tools that the planner knows; tools that it looks up where the prompt does not
have their signature."""
_KITS = ("calc", "writer", "browser")
_PATTERNS = tuple(f"{kit}_*" for kit in _KITS)
_ALLOWED = {"gui": (), "api": _PATTERNS, "found": _PATTERNS}
"""Tools beside the built-ins; with none, the prompt names none."""
_MOST = 150
"""Steps; the longest script has half as many, and steps that wait come on top."""


@dataclass(frozen=True)
class Outcome:
    """What came of one run. Steps that only waited are in none of the counts."""

    score: float | None
    detail: str
    steps: int = 0
    """The one that ends the run included."""
    actions: int = 0
    """Single acts: each click, drag, text and key of a gui_action, each call of a tool."""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    """The wall's, from the first look to the score."""
    waits: int = 0
    calls: int = 0
    """Of tools beside the built-ins."""
    untold: int = 0
    """Of these, calls whose signature the prompt of their step did not have."""
    unnamed: int = 0
    """Of these, calls with arguments that it did not even name."""
    lookups: int = 0
    """Steps in which a tool was looked up; they are in the counts."""
    tools_unnamed: int = 0
    """Tools of the calls in ``unnamed``: so many looks are needed where names are enough."""
    tries: int = 1
    """Runs until this one, itself included; those before failed and are in none of the counts."""
    folder: Path = Path()


async def tried(task: Path, moves: Sequence[player.Move], way: Way, folder: Path) -> Outcome:
    """Set up, run and score a task.

    Args:
        task: its file.
        moves: the script.
        way: which tools the run has.
        folder: takes the run.
    """
    settings = hisa.Settings.model_validate(
        {
            "patterns": {"enabled": False},
            "run": {"folder": folder, "max_steps": _MOST},
            "tools": {"allow": _ALLOWED[way]},
        }
    )
    try:
        async with DesktopEnvironment() as desktop:
            script = player.Player(desktop, moves, looks_up=way == "found")
            began = time.monotonic()
            result = await hisa.run(
                task,
                settings=settings,
                model={"planner": script.model, "state": script.model},
                environment=desktop,
                on_event=script.heard,
            )
            seconds = time.monotonic() - began
    except HisaError as error:
        return Outcome(None, str(error))
    roles = hisa.load_run(result.folder).manifest.totals.roles
    steps = hisa.load_run(result.folder).manifest.totals.steps
    detail = "" if result.score == 1 else result.score_detail or result.message
    if result.status != "succeeded":
        detail = f"{result.status}: {result.message} {detail}"
    return Outcome(
        result.score if result.status == "succeeded" else 0.0,
        detail,
        steps - script.waits,
        sum(_acts(move) for move in moves) + len(script.looked_up),
        sum(each.tokens_in for each in roles.values()),
        sum(each.tokens_out for each in roles.values()),
        seconds,
        script.waits,
        sum(not isinstance(move.input, str) for move in moves),
        len(script.untold),
        len(script.unnamed),
        len(script.looked_up),
        len(set(script.unnamed)),
        folder=result.folder,
    )


def kits_lacking() -> list[str]:
    """Returns the toolkits that the second way needs and that are not installed."""
    there = {tool.kit for tool in discover()[0]}
    return [kit for kit in _KITS if kit not in there]


def _acts(move: player.Move) -> int:
    """Single acts of a move; to bring the pointer somewhere is part of what is done there."""
    if not isinstance(move.input, str):
        return 1
    return sum(not isinstance(each, KeyDown | KeyUp | Move | Sleep) for each in parse(move.input))
