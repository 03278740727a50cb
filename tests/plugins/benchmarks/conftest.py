"""OSWorld's package, as if a Python had it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def osworld_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names a Python that says it has all of the package's metrics; it can score nothing."""
    about = {"folder": "/nowhere", "version": "1.0.2", "roots": [], "absent": []}
    answer_file = tmp_path / "osworld.json"
    answer_file.write_text(json.dumps(about))
    python = tmp_path / "osworld-python"
    python.write_text(f"#!/bin/sh\ncat {answer_file}\n")
    python.chmod(0o755)
    monkeypatch.setenv("HISA_OSWORLD_PYTHON", str(python))
