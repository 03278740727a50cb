"""The parts of a run that a page shows: steps by the report's own templates, and pictures."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import Any

from hisa.runs.read import IMAGES, Run
from hisa.runs.step_records import StepRecord

__all__ = ["picture_bytes", "step_record", "steps_html"]

_WIDTHS = (160, 320, 640, 960, 1280, 1920)
"""Pixels: of a width asked for, the next larger one is made."""
_KEPT = 64  # pictures, of 100 kB at most as a rule; chosen by hand


def step_record(step: StepRecord) -> dict[str, Any]:
    """A step as a row of a list."""
    return {
        "step": step.number,
        "tool": step.tool if step.planned else "",
        "thought": step.planned.thought[:2000] if step.planned else "",
        "verdict": step.verdict,
        "seconds": step.seconds,
        "before": step.before.image if step.before else "",
        "after": step.after.image if step.after else "",
    }


def steps_html(run: Run, after: int) -> str:
    """The steps after a number as HTML, every value escaped; pictures are fetched by the page."""
    from hisa.runs.report import render_steps

    return render_steps(run, after, lambda sha: f"/api/runs/{run.id}/picture/{sha}")


def picture_bytes(run: Run, sha256: str, width: int) -> bytes | None:
    """A picture as it was seen (PNG); with a width in pixels, as WebP of about that width.

    None where it is missing, or no picture.
    """
    path = None if (run.folder / IMAGES).is_symlink() else run.image(sha256)
    chosen = next((size for size in _WIDTHS if size >= width > 0), 0)
    if path is None:
        return None
    return _scaled(path, chosen) if chosen else path.read_bytes()


@lru_cache(maxsize=_KEPT)
def _scaled(path: Path, width: int) -> bytes | None:
    from PIL import Image

    buffer = io.BytesIO()
    try:
        with Image.open(path, formats=("PNG",)) as file:
            picture = file.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    picture.thumbnail((width, picture.height), reducing_gap=2.0)
    picture.save(buffer, "WEBP", quality=80, method=1)
    return buffer.getvalue()
