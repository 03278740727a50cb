"""Prints the lines of Python of each room and plugin, of tests and benchmarks, and words of pages.

    python scripts/lines.py

A room is a folder or a file directly in hisa/.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
STEP = (
    "loop.py", "looker.py", "sequence.py", "hooks.py", "conclusion.py", "protocols.py",
    "planner", "grounder", "state", "patterns", "models",
    "actions", "screen", "events", "outcomes", "errors.py",
)  # fmt: skip
"""What one step runs through: read these to understand an agent."""


def count_lines(path: Path) -> int:
    """Returns the lines of a Python file, or of all of them in a folder."""
    files = path.rglob("*.py") if path.is_dir() else [path]
    return sum(file.read_bytes().count(b"\n") for file in files)


def count_words(folder: Path) -> int:
    """Returns the words of a folder's pages, blocks of code left out."""
    pages = [page.read_text("utf-8") for page in folder.glob("*.md")]
    return sum(len(re.sub(r"```.*?```", "", page, flags=re.DOTALL).split()) for page in pages)


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


def main() -> None:
    """Prints the table."""
    core, others = core_rooms(), plugins()
    for name, lines in core.items():
        print(f"{name:20} {lines:7,}{'   one step' if name in STEP else ''}")
    print()
    print(f"{'the core':20} {sum(core.values()):7,}")
    print(f"{'one step':20} {sum(core[name] for name in STEP):7,}")
    for name, lines in others.items():
        print(f"plugins/{name:12} {lines:7,}")
    print(f"{'the package':20} {sum(core.values()) + sum(others.values()):7,}")
    print()
    for name in ("tests", "benchmarks"):
        print(f"{name:20} {count_lines(ROOT / name):7,}")
    print(f"{'words of docs/':20} {count_words(ROOT / 'docs'):7,}")


if __name__ == "__main__":
    main()
