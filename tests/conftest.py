"""No network beyond loopback, no settings from outside, for every test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("hisa", deadline=None)  # a busy machine is no failure
settings.load_profile("hisa")
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")  # the same cases each time; runs by hand look for new ones

_KEPT = ("HISA_FUZZ_CASES", "HISA_OSWORLD_PYTHON", "HISA_RED_TEAM")
_connect = socket.socket.connect


def _loopback_only(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6):
        host = address[0]
        if not (host.startswith("127.") or host in ("localhost", "::1")):
            raise OSError(f"tests may not connect to {host!r}; only loopback")
    _connect(self, address)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _loopback_only)
        yield


@pytest.fixture(autouse=True, scope="session")
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Variables of the person who runs the tests change nothing, and their patterns stay theirs."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("HISA_", "OPENAI_")) and name not in _KEPT:
                patch.delenv(name)
        store: Path = tmp_path_factory.mktemp("store")
        patch.setenv("HISA_PATTERNS__PATH", str(store / "patterns"))
        yield


@pytest.fixture(scope="session")
def outside_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The outside packages, one for each door, really installed into a folder of their own."""
    target = tmp_path_factory.mktemp("site")
    packages = sorted((Path(__file__).parent / "outside_packages").iterdir())
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(target), *map(str, packages)]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.fixture
def outside(outside_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the outside packages, where this process finds it."""
    monkeypatch.syspath_prepend(str(outside_folder))
    return outside_folder


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Locks of guests and the like in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"
