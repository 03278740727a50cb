"""Sockets of runs in a folder of the test's own: those of the person who runs it stay alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def runtime_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A short path: a socket's has 104 bytes."""
    with tempfile.TemporaryDirectory(prefix="hl") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield folder
