"""No part beneath the wiring knows more of the settings than its own section."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import hisa

CORE = Path(hisa.__file__).parent
ABOVE = frozenset({"__init__.py", "agent.py", "cli", "config", "plugins", "wiring"})
"""What puts parts together, and so may know the settings of all of them."""


def _names_from_config(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "hisa.config":
            yield from (alias.name for alias in node.names)


def test_no_room_beneath_the_wiring_knows_all_settings() -> None:
    rooms = [path for path in CORE.iterdir() if path.name not in ABOVE]
    files = [file for room in rooms for file in ([room] if room.is_file() else room.rglob("*.py"))]
    files = [file for file in files if file.suffix == ".py"]
    assert len(files) > 100
    assert [file for file in files if "Settings" in _names_from_config(file)] == []
