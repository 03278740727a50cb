"""Prints the lines of each room and plugin beside their budgets; exits with 1 if one is over.

    python scripts/budgets.py

A room is a folder or a file directly in hisa/. The budgets are in tests/budgets.toml.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BUDGETS = ROOT / "tests" / "budgets.toml"


def count_lines(path: Path) -> int:
    """Returns the lines of a Python file, or of all of them in a folder."""
    files = path.rglob("*.py") if path.is_dir() else [path]
    return sum(file.read_bytes().count(b"\n") for file in files)


def parts(folder: Path) -> dict[str, int]:
    """Returns the lines of each package and module directly in a folder, by name, sorted."""
    paths = [path.parent for path in folder.glob("*/__init__.py")] + [*folder.glob("*.py")]
    return {path.name: count_lines(path) for path in sorted(paths)}


def core_rooms() -> dict[str, int]:
    """Returns the lines of each room of the core."""
    return {name: lines for name, lines in parts(ROOT / "hisa").items() if name != "plugins"}


def plugins() -> dict[str, int]:
    """Returns the lines of each plugin."""
    rows = parts(ROOT / "hisa" / "plugins")
    return {name: lines for name, lines in rows.items() if not name.endswith(".py")}


def totals(budgets: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yields name, lines and budget of whatever has a budget."""
    core = core_rooms()
    yield "the core", sum(core.values()), budgets["core"]
    step = budgets["step"]
    yield "one step", sum(core[name] for name in step["parts"]), step["lines"]
    lines = plugins()
    for name in sorted({*lines, *budgets["plugins"]}):
        yield f"plugins/{name}", lines.get(name, 0), budgets["plugins"].get(name, 0)


def main() -> int:
    """Prints the table; returns 1 if a part is over its budget or has none."""
    budgets = tomllib.loads(BUDGETS.read_text("utf-8"))
    step = budgets["step"]["parts"]
    for name, lines in core_rooms().items():
        print(f"{name:20} {lines:7,}{'   one step' if name in step else ''}")
    print()
    over = False
    for name, lines, budget in totals(budgets):
        over |= lines > budget
        excess = f"   over by {lines - budget:,}" if lines > budget else ""
        print(f"{name:20} {lines:7,} of {budget:6,}{excess}")
    return over


if __name__ == "__main__":
    sys.exit(main())
