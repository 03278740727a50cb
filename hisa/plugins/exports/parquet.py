"""A parquet file of model calls with their pictures as PNG bytes, as `datasets` reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command
from hisa.runs.read import Run
from hisa.runs.turns import Turn

__all__ = ["write_parquet"]


def write_parquet(turns: list[Turn], runs: list[Run], path: Path) -> Path:
    """Write a row a model call; ``images`` are its pictures in order, ``request`` names them so.

    Raises:
        LibraryLacking: the package ``datasets`` is not installed.
        UsageError: there is nothing to write, or the file cannot be written.
    """
    try:
        from datasets import (  # type: ignore[import-not-found]  # heavy, and an extra
            Dataset,
            Features,
            Image,
            Sequence,
            Value,
        )
    except ImportError as error:
        raise LibraryLacking(
            "--format parquet needs the package datasets", fix=install_command("data")
        ) from error
    if not turns:
        raise UsageError("there is no model call to export", fix="hisa runs ls")
    texts = {name: Value("string") for name in ("id", "run", "task", "role", "model", "turn")}
    features = Features(
        {**texts, "step": Value("int64"), "score": Value("float64"), "images": Sequence(Image())}
    )
    made = Dataset.from_list(list(_rows(turns, runs)), features=features)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made.to_parquet(str(path))
    except OSError as error:
        raise UsageError(
            f"cannot write {str(path)!r}: {error.strerror}", fix="choose another file with -o FILE"
        ) from error
    return path


def _rows(turns: list[Turn], runs: list[Run]) -> Iterator[dict[str, Any]]:
    by_id = {run.id: run for run in runs}
    for turn in turns:
        files = [by_id[turn.run].image(name) for name in turn.pictures]
        yield {
            "id": turn.id,
            "run": turn.run,
            "task": turn.task,
            "role": turn.role,
            "model": turn.model,
            "turn": turn.model_dump_json(),
            "step": turn.step,
            "score": turn.score,
            "images": [{"bytes": file.read_bytes(), "path": None} for file in files if file],
        }
