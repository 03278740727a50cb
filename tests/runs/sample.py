"""A run of eleven steps as the agent writes it; its spreadsheet is drawn, its texts are invented.

It lies in ``tests/data/spreadsheet_run``: rejected replies, a place that is not found, a loop, a
dialog, two summaries, and a lesson at its end.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
from pathlib import Path

from PIL import Image, ImageDraw

from hisa.events import ModelCalled, Observed, Planned
from hisa.runs.event_line import encode
from hisa.runs.log import RunLog, new_id
from hisa.runs.run_reader import EVENTS, MANIFEST, read_events, read_manifest
from hisa.screen.observation import Screenshot

WRITTEN = Path(__file__).parents[1] / "data" / "spreadsheet_run"
TASK = read_manifest(WRITTEN).task.task()
START = read_manifest(WRITTEN).started_at


def build(root: Path, *, finish: bool = True) -> Path:
    """A copy of the run with an id of its own; without ``finish`` it was killed in step 12."""
    folder = root / new_id()
    while folder.exists():
        folder = root / new_id()
    shutil.copytree(WRITTEN, folder)
    manifest = read_manifest(folder)
    manifest.id = folder.name
    if not finish:
        manifest.exit_status = manifest.finished_at = manifest.score = None
        manifest.message = ""
        _cut_off(folder / EVENTS)
    manifest.write(folder / MANIFEST)
    return folder


def _cut_off(log: Path) -> None:
    """Put a call and a plan of step 12 in the place of the end."""
    events = list(read_events(log))
    last = max(n for n, event in enumerate(events) if event.type == "step_finished")
    at = itertools.count(events[last].at + 0.1)
    called = ModelCalled(
        step=12, at=next(at), role="planner", model="m", tokens_in=1970, tokens_out=140, usd=0.004
    )
    planned = Planned(step=12, at=next(at), thought="Close it.", tool="wait", input="1")
    log.write_bytes(b"".join(map(encode, [*events[: last + 1], called, planned])))


def screen(text: str = "budget.ods") -> Screenshot:
    """A picture of a window with a text."""
    image = Image.new("RGB", (1280, 720), "#3a6ea5")
    pen = ImageDraw.Draw(image)
    pen.rectangle((40, 30, 1240, 690), "#f6f6f6", "#222222")
    pen.text((54, 36), text, "#222222")
    return Screenshot(image)


def look(log: RunLog, title: str) -> None:
    """Log a look at a window of that title."""
    name = asyncio.run(log.save(screen()))
    log.emit(
        Observed(
            image=name,
            width=1280,
            height=720,
            screen_width=1920,
            screen_height=1080,
            window=title,
            windows=(title, "Files"),
        )
    )
