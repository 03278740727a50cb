"""Runs tasks of which half hold a sentence that the offline model cannot do; prints how they end.

`python -m benchmarks.endings` runs the 40 tasks that figures are reported of, in about ten minutes
on two cores; `--tuning` takes those that the rules were written with, `--only NAME` one of either.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

import hisa
from hisa.config import load

__all__ = ["main", "read_tasks"]

_FOLDER = Path(__file__).parent
_CHROMIUM = "chromium --no-sandbox --test-type --no-first-run --disable-gpu"


def read_tasks(name: str) -> list[dict[str, Any]]:
    """The tasks of a file beside this one."""
    tasks: list[dict[str, Any]] = yaml.safe_load((_FOLDER / name).read_text("utf-8"))
    return tasks


def _task_file(entry: dict[str, Any], folder: Path) -> Path:
    """Writes an entry as a task file, with what opens its page or its text."""
    setup = list(entry.get("setup", ()))
    if "page" in entry:
        address = "/home/user/page.html"
        page = f"<!doctype html><meta charset=utf-8>{entry['page']}"
        setup += [
            {"write": {"path": address, "text": page}},
            {"launch": f"{_CHROMIUM} --force-renderer-accessibility file://{address}"},
            {"wait_window": {"title": "Chromium", "seconds": 60}},
        ]
    if "text" in entry:
        notes = "/home/user/notes.txt"
        setup += [
            {"write": {"path": notes, "text": entry["text"]}},
            {"launch": f"mousepad {notes}"},
            {"wait_window": {"title": "notes.txt", "seconds": 60}},
        ]
    tree = {"instruction": entry["instruction"], "setup": setup, "check": entry.get("check")}
    path = folder / f"{entry['name'].replace(' ', '-')}.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in tree.items() if value}), "utf-8")
    return path


def _is_right(entry: dict[str, Any], result: hisa.RunResult) -> bool:
    """Whether a task that can be done was, and one that cannot was not called done."""
    if "cannot" in entry:
        return result.status != "succeeded"
    return result.status == "succeeded" and result.score == 1


def _print_counts(rows: Sequence[tuple[dict[str, Any], bool]]) -> None:
    impossible = [right for entry, right in rows if "cannot" in entry]
    possible = [right for entry, right in rows if "cannot" not in entry]
    print(f"hold a sentence it cannot do: {impossible.count(False)} of {len(impossible)} succeeded")
    print(f"can be done: {possible.count(True)} of {len(possible)} succeeded, by their checks")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 where the figures are as they have to be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endings", description=__doc__)
    parser.add_argument("--tuning", action="store_true", help="the tasks to write rules with")
    parser.add_argument("--only", action="append", help="the task of this name")
    chosen = parser.parse_args(arguments)
    entries = read_tasks("tuning_tasks.yaml" if chosen.tuning else "report_tasks.yaml")
    if chosen.only:
        entries = [entry for entry in entries if entry["name"] in chosen.only]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        settings = load(overrides={"run": {"folder": folder}})
        for entry in entries:
            begun = time.monotonic()
            result = hisa.run_sync(_task_file(entry, Path(folder)), settings=settings)
            right = _is_right(entry, result)
            rows.append((entry, right))
            score = "" if result.score is None else f", score {result.score:g}"
            print(
                f"{'right' if right else 'WRONG'} {entry['name']}: {result.status}{score}, "
                f"{result.steps} steps, {time.monotonic() - begun:.0f} s: {result.message}"[:400],
                flush=True,
            )
    _print_counts(rows)
    succeeded = sum(not right for entry, right in rows if "cannot" in entry)
    failed = sum(not right for entry, right in rows if "cannot" not in entry)
    return 1 if succeeded or failed > len(rows) // 40 else 0


if __name__ == "__main__":
    sys.exit(main())
