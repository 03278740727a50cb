"""For pytest: collects the tests of the core alone, those that need no plugin.

All of them are imported; of each file a few are run, chosen by a seed and of none that is made of a
table more than one case. ``HISA_WITHOUT_PLUGINS=all`` runs every case.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from hisa.config import PlannerSettings, Settings

# The guard of acts is a plugin's.
PlannerSettings.model_fields["guards"].default = False
PlannerSettings.model_rebuild(force=True)
Settings.model_fields["planner"].default = PlannerSettings()
Settings.model_rebuild(force=True)

_FEW = 2
"""Tests of a file that are run."""
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave a few tests of each file, unless all are asked for."""
    if os.environ.get("HISA_WITHOUT_PLUGINS") == "all":
        return
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chooser = random.Random(0)
    by_file: dict[str, list[pytest.Item]] = {}
    for name, cases in by_test.items():
        by_file.setdefault(name.partition("::")[0], []).append(chooser.choice(cases))
    chosen = {
        item for tests in by_file.values() for item in chooser.sample(tests, min(_FEW, len(tests)))
    }
    kept = [item for item in items if item in chosen]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept
