"""Files that a case of a metric's test is made of, written when the case is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

File = Callable[[Path], Path]


def file(name: str, content: str | bytes) -> File:
    """Something that writes a file into a folder."""

    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def text(content: str) -> File:
    return file(f"{abs(hash(content))}.txt", content)


def data(content: object) -> File:
    return text(json.dumps(content))


Case = tuple[str, Any, Any, Mapping[str, Any], float]
"""Metric, result, expected, options, score; what is to be a file is a `File`."""


def build_value(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [build_value(item, folder) for item in value]
    return value(folder) if callable(value) else value
