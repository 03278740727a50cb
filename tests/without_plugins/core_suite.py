"""For pytest: collects the tests of the core alone, those that need no plugin."""

from __future__ import annotations

import re
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_NAMES_A_PLUGIN = re.compile(r"\b(hisa|tests)[./]plugins\b")
_LISTED = {
    _ROOT / line.split()[0]
    for line in (_HERE / "needs_plugins.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore a plugin's tests, files that name a plugin, and those that are listed."""
    if collection_path in _LISTED or collection_path == _ROOT / "tests" / "plugins":
        return True
    if collection_path.suffix != ".py":
        return None
    return True if _NAMES_A_PLUGIN.search(collection_path.read_text("utf-8")) else None
