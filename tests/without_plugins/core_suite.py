"""For pytest: leaves out the tests that name a plugin, so that the core's are what remains."""

from __future__ import annotations

import re
from pathlib import Path

_NAMES_A_PLUGIN = re.compile(r"\b(hisa|tests)[./]plugins\b")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore a file of tests that imports or names a plugin; all else is collected as ever."""
    if collection_path.suffix != ".py":
        return None
    return True if _NAMES_A_PLUGIN.search(collection_path.read_text("utf-8")) else None
