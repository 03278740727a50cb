"""OSWorld's package, as if a Python had it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hisa.plugins.benchmarks.tasks.osworld_metrics import known


@pytest.fixture
def osworld_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names a Python that says it has all of the package's metrics; it can score nothing."""
    functions = {
        name: {"file": metric.file, "needs": [], "runs_code": False}
        for name, metric in known().items()
    }
    about = {"folder": "/nowhere", "roots": [], "functions": functions}
    told = tmp_path / "osworld.json"
    told.write_text(json.dumps(about))
    python = tmp_path / "osworld-python"
    python.write_text(f"#!/bin/sh\ncat {told}\n")
    python.chmod(0o755)
    monkeypatch.setenv("HISA_OSWORLD_PYTHON", str(python))
