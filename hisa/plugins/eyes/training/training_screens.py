"""Folders of training screens: pictures, and ``screens.jsonl``, which says what is on each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

__all__ = ["Row", "drop_blank", "read_screen_rows", "write_screen"]

Row = dict[str, Any]
_INDEX = "screens.jsonl"
_LEAST_CONTRAST = 9
"""Levels of a colour; a disabled icon of a dark theme has as many."""


def read_screen_rows(folder: Path) -> list[Row]:
    """Returns the lines for the screens of a folder, without one that is still being written."""
    index = folder / _INDEX
    lines = index.read_text("utf-8").splitlines(keepends=True) if index.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def write_screen(folder: Path, file: str, picture: Image.Image, **facts: Any) -> None:
    """Writes a picture, then its line with further facts: source, split and boxes."""
    picture.save(folder / file, "WEBP", quality=95, method=2)
    row = {"file": file, "width": picture.width, "height": picture.height, **facts}
    with (folder / _INDEX).open("a", encoding="utf-8") as index:
        index.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(file, flush=True)  # noqa: T201


def drop_blank(rows: Sequence[Row], picture: Image.Image) -> list[Row]:
    """Returns the rows whose boxes show something; the edges of cells and entries do not count."""
    pixels = np.asarray(picture).astype(int)

    def is_blank(row: Row) -> bool:
        margin = 0 if row["role"] in ("list item", "table cell", "scroll bar") else 2
        left, top, right, bottom = row["box"]
        lines = pixels[max(0, top - margin) : bottom + margin]
        part = lines[:, max(0, left - margin) : right + margin]
        return not part.size or int(np.ptp(part, axis=(0, 1)).max()) < _LEAST_CONTRAST

    return [row for row in rows if not is_blank(row)]
