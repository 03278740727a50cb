"""Runs a made task on a desktop of the profile, with a scripted model or with nothing done."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import hisa
from benchmarks.spider2v_tasks.made import SHOP, materialized, write_task
from benchmarks.spider2v_tasks.player import Move, player
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Size

__all__ = ["DOMAINS", "MOVES", "PROFILE", "Outcome", "tried"]

PROFILE = "spider2v"
_SCREEN = Size(1920, 1080)
"""The size of the published machine's screen."""
_CLICK = "pyautogui.click(X_COORD, Y_COORD)"
_BUILT = f"/home/user/projects/{SHOP}/target/run_results.json"
"""Written when dbt has built the project."""
MOVES: Mapping[str, Sequence[Move]] = {
    "jupyter": (
        Move("print('the end')", _CLICK, 'menu item "Run"'),
        Move("Run All Cells", _CLICK, 'menu item "Run All Cells"'),
        Move("the end", "pyautogui.press('esc')"),
    ),
    "dbt": (
        Move("(dbt)", "pyautogui.write('dbt build\\n')"),
        Move("(dbt)", "pyautogui.press('enter')", file=_BUILT),
    ),
    "dagster": (
        Move("Overview", _CLICK, "Assets link"),
        Move("lineage", _CLICK, "View global asset lineage link"),
        Move("Materialize all", _CLICK, "Materialize all button"),
        Move("Materialized", "pyautogui.press('esc')"),
    ),
}
"""What the scripted model does, by domain."""
DOMAINS = tuple(MOVES)


@dataclass(frozen=True)
class Outcome:
    """What came of one run."""

    score: float | None
    detail: str
    status: str
    steps: int
    seconds: float


async def tried(domain: str, folder: Path, *, idle: bool, prepared: bool = False) -> Outcome:
    """Set up, run and score a task on a fresh desktop.

    Args:
        domain: of the task.
        folder: takes the task's files and the run.
        idle: the model says at once that it is done.
        prepared: Dagster's set-up materializes the assets itself, by the published action.
    """
    path = write_task(folder, domain, materialized if prepared else None)
    tree = {
        "patterns": {"enabled": False},
        "run": {"folder": folder / "runs", "max_steps": 150},
    }
    begun = time.monotonic()
    async with DesktopEnvironment(_SCREEN, image_limit=_SCREEN, profile=PROFILE) as desktop:
        result = await hisa.run(
            path,
            settings=hisa.Settings.model_validate(tree),
            model=player(desktop, () if idle else MOVES[domain]),
            environment=desktop,
        )
    found = hisa.load_run(result.folder)
    seconds = time.monotonic() - begun
    detail = result.score_detail or result.message
    return Outcome(result.score, detail, result.status, len(found.steps), seconds)
