"""Calls a metric of OSWorld's package in a separate process, on copies of the files.

The process has none of this one's variables, and limits on time and memory. If bubblewrap works, it
has no network either, and can write only to its own folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hisa.errors import CheckFailed
from hisa.plugins.benchmarks.tasks.isolated_process import check_limits, run_process
from hisa.plugins.benchmarks.tasks.metric import BadRules, Options, Score, Unreadable
from hisa.plugins.benchmarks.tasks.osworld_metrics.index import (
    Installation,
    find_installation,
    find_osworld_metric,
    has_bubblewrap,
    python,
)
from hisa.plugins.benchmarks.tasks.process_limits import OSWORLD_LIMITS, Limits

__all__ = ["Call", "run", "run_calls"]

_SCRIPT = Path(__file__).with_name("metric_runner.py")

Call = tuple[str, Any, Any, Options]
"""Name, result, expected, options."""


async def run(name: str, result: Any, expected: Any, options: Options) -> Score:
    """Score with a metric of OSWorld's package.

    Args:
        name: the metric's name.
        result: what the getter of the result gave; files as paths.
        expected: what the getter of the expected value gave.
        options: the options that the task gives the metric.

    Raises:
        Unreadable: it failed on what the agent left, but not on the expected file; score 0.
        BadRules: the metric, one of its libraries or the task's rules are at fault; no score.
        Exceeded: it took too much processor time, or crashed.
        CheckFailed: it took too long or too much memory, or vanished; no score.
    """
    (verdict,) = await run_calls([(name, result, expected, options)])
    if "score" in verdict:
        return float(verdict["score"]), f"{verdict['score']:g} by OSWorld's own {name}"
    if "unreadable" in verdict:
        raise Unreadable(f"OSWorld's own {name} cannot read it: {verdict['unreadable']}")
    raise BadRules(f"OSWorld's own {name} cannot be used: {verdict['broken']}")


async def run_calls(calls: Sequence[Call], limits: Limits = OSWORLD_LIMITS) -> list[dict[str, Any]]:
    """Run calls in one process; each returns a score, or "unreadable" or "broken" and a reason."""
    here = await asyncio.to_thread(find_installation)
    with tempfile.TemporaryDirectory(prefix="hisa-osworld-") as place:
        folder = await asyncio.to_thread(Path(place).resolve)
        request = {
            "folder": here.folder,
            "absent": here.absent,
            "memory": limits.memory,
            "bytes": limits.written,
            "processor": limits.processor,
            "calls": await asyncio.to_thread(_prepare_calls, calls, folder),
        }
        line = await asyncio.to_thread(_line, here, folder)
        request_data = json.dumps(request, default=_text).encode()
        process_result = await run_process(line, request_data, folder=folder, limits=limits)
    check_limits(process_result.code, limits)
    if process_result.code != 0 or not process_result.stdout:
        why = process_result.stderr.strip() or f"exit status {process_result.code}"
        raise CheckFailed(f"OSWorld's metric crashed: {why}")
    verdicts: list[dict[str, Any]] = json.loads(process_result.stdout)
    return verdicts


def _text(value: object) -> str:
    """Returns bytes, which come from rows of databases, as the text that they most often are."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _prepare_calls(calls: Sequence[Call], folder: Path) -> list[dict[str, Any]]:
    return [_prepare_call(number, call, folder) for number, call in enumerate(calls)]


def _prepare_call(number: int, call: Call, folder: Path) -> dict[str, Any]:
    """Returns a call with its files copied, since a function may write beside what it reads."""
    name, result, expected, options = call
    metric = find_osworld_metric(name)
    if metric is None:
        raise BadRules(f"OSWorld's package has no metric {name!r}")
    place = folder / f"files{number}"
    place.mkdir()
    values = [_copy_files(value, place) for value in (result, expected)]
    call_data = {"file": metric.file, "name": name, "options": dict(options)}
    return {**call_data, "result": values[0], "expected": values[1], "place": str(place)}


def _copy_files(value: Any, place: Path) -> Any:
    """Returns a value with its paths as texts, as the package expects, and copies their folders."""
    if isinstance(value, Path):
        shutil.copytree(value.parent, place, dirs_exist_ok=True)
        return str(place / value.name)
    if isinstance(value, list | tuple):
        return [_copy_files(item, place) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _copy_files(item, place) for key, item in value.items()}
    return value


def _line(here: Installation, folder: Path) -> list[str]:
    line = [python(), "-I", "-X", "utf8", str(_SCRIPT)]
    if not has_bubblewrap():
        return line
    cage = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    cage += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for hidden in ("/tmp", "/run"):
        cage += ["--tmpfs", os.path.realpath(hidden)]
    for needed in (*here.roots, here.folder, str(_SCRIPT.parent)):
        cage += ["--ro-bind", needed, needed]
    return [*cage, "--bind", str(folder), str(folder), "--chdir", str(folder), "--", *line]
