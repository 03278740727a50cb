"""Opens a grounding suite, whoever wrote it."""

from __future__ import annotations

from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.grounding.published import list_files, published_suite
from hisa.plugins.benchmarks.bench.grounding.targets import GroundingSuite, own_suite

__all__ = ["open_grounding_suite"]


def open_grounding_suite(path: Path) -> GroundingSuite:
    """The suite of a folder, or of one published list.

    Raises:
        UsageError: it is none, or something in it is not as it should be.
    """
    if (path / "targets.jsonl").is_file() or (path / "targets").is_dir():
        return own_suite(path)
    if files := list_files(path):
        return published_suite(files, path.resolve().name)
    raise UsageError(
        f"{str(path)!r} is no grounding suite: neither targets.jsonl nor a list of ScreenSpot, "
        "ScreenSpot-Pro or OSWorld-G is in it",
        fix="hisa bench grounding benchmarks/grounding",
    )
