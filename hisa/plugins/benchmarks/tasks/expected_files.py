"""Finds what the expected files of a task need, before a run: a library, or a file that is whole.

A metric that cannot judge by its expected file gives no score, whatever the agent does.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hisa.errors import PluginFailed, UsageError
from hisa.plugins.benchmarks.tasks.benchmark import OSWORLD, Part, evaluator_of
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.judge import chosen
from hisa.protocols import Task
from hisa.tasks.task_context import host_file

__all__ = ["benchmark_of", "expected_problems"]

_PACKAGES = (".xlsx", ".docx", ".pptx", ".odt", ".ods", ".odp", ".zip")
_MAX_SHEET = 50_000_000
"""Bytes of a sheet that are looked through; a sheet of 200,000 cells has about 10 MB."""
_BLOCK = 1 << 20


def expected_problems(task: Task, cache: FileCache) -> list[str]:
    """Lists why a task's expected files cannot be compared with; empty where they can.

    A file that is not here yet says nothing.
    """
    if task.check is None or "func" not in task.check:
        return []
    try:
        evaluator = evaluator_of(task)
    except UsageError:
        return []
    parts = () if evaluator.infeasible else evaluator.parts
    found = [why for part in parts for why in _part(task, part, cache)]
    return list(dict.fromkeys(found))


def _part(task: Task, part: Part, cache: FileCache) -> Iterator[str]:
    for name, path in _files(task, part.expected, cache):
        if name.lower().endswith(_PACKAGES) and not zipfile.is_zipfile(path):
            yield f"the expected file {name!r} is not a {Path(name).suffix.lower()} file"
        elif benchmark_of(task, part, path) == OSWORLD:
            yield from _needs_their_own(part.func, name)


def benchmark_of(task: Task, part: Part, expected: Any) -> str:
    """The benchmark whose metric judges a part: OSWorld, whosever task it is, where ours cannot.

    Args:
        task: the part's.
        part: of the evaluator.
        expected: the expected value, as its getter gave it.
    """
    theirs = part.func == "compare_table" and isinstance(expected, Path) and _styled(part.options)
    return OSWORLD if theirs and _conditional(expected) else task.format


def _needs_their_own(func: str, name: str) -> Iterator[str]:
    try:
        judge = chosen(func, OSWORLD)
    except (UsageError, PluginFailed):
        return  # told by `hisa.plugins.benchmarks.tasks.problems`
    if not judge.by_osworld:
        yield (
            f"the expected file {name!r} has conditional formatting, which only OSWorld's own "
            f"{func} evaluates (hisa install osworld)"
        )


def _files(
    task: Task, config: Mapping[str, Any] | None, cache: FileCache
) -> Iterator[tuple[str, Path]]:
    """The expected files that are here, each with the name that the task gives it."""
    kind = None if config is None else config.get("type")
    if config is None or kind not in ("cloud_file", "local_file"):
        return
    given = config.get("path")
    for path in given if isinstance(given, list) else [given]:
        if not isinstance(path, str):
            continue
        name = path.partition("?")[0].rpartition("/")[2]
        try:
            if kind == "local_file":
                yield name, host_file(task.folder, path)
            elif cache.holds(path):
                yield name, cache.path(path)
        except UsageError:
            continue  # told by `hisa.plugins.benchmarks.tasks.problems`


def _styled(options: Mapping[str, Any]) -> bool:
    rules = options.get("rules")
    return isinstance(rules, list) and any(
        isinstance(rule, Mapping) and rule.get("type") == "style" for rule in rules
    )


def _conditional(workbook: Path) -> bool:
    """Whether a sheet of a workbook has conditional formatting."""
    try:
        with zipfile.ZipFile(workbook) as package:
            sheets = [n for n in package.namelist() if n.startswith("xl/worksheets/")]
            return any(_says(package, name, b"<conditionalFormatting") for name in sheets)
    except (OSError, zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError):
        return False


def _says(package: zipfile.ZipFile, name: str, word: bytes) -> bool:
    tail, left = b"", _MAX_SHEET
    with package.open(name) as sheet:
        while left > 0 and (block := sheet.read(_BLOCK)):
            if word in tail + block:
                return True
            tail, left = block[-len(word) :], left - len(block)
    return False
