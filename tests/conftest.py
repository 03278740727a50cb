"""No network beyond loopback, no settings from outside, for every test; long files first."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("hisa", max_examples=30, deadline=None)  # a busy machine is no failure
settings.register_profile("few", max_examples=5, deadline=None)  # of a suite that runs beside
settings.load_profile("hisa")
settings.register_profile("ci", max_examples=100, derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")  # the same cases each time; runs by hand look for new ones

_ALLOWED_VARIABLES = (
    "HISA_FUZZ_CASES",
    "HISA_OSWORLD_PYTHON",
    "HISA_RED_TEAM",
    "HISA_WITHOUT_PLUGINS",
)
_connect = socket.socket.connect
_UNLISTED_SECONDS = 5.0
"""Taken for a file that the table does not know: a new one may be long and must not come last."""
_STARTS = frozenset(
    {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
)
_QUICK = {"tesseract", "uname", "package_report.py"}
"""Done in a moment, once for each picture or process: which test starts them hangs on the order."""
_STARTING = ("process", "desktop", "browser", "vm", "llm")
"""Marks of tests that may start processes."""
_started: list[str] = []
"""Processes that the current test started."""
_older: set[int | None] = set()
"""Threads that were there before the current test: what they start is another's."""


def longest_first(items: list[pytest.Item], table: str) -> list[pytest.Item]:
    """The tests in their order within files, the files that take longest before the others."""
    rows = (line.split() for line in table.splitlines() if line and not line.startswith("#"))
    seconds = {file: float(number) for number, file in rows}

    def takes(item: pytest.Item) -> float:
        return -seconds.get(item.nodeid.partition("::")[0], _UNLISTED_SECONDS)

    by_file: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.nodeid.partition("::")[0], []).append(item)
    return [
        item for file in sorted(by_file.values(), key=lambda own: takes(own[0])) for item in file
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two workers end at about the same time where no long file is left for the end.

    The outside package is installed for the first test that asks for it: each may be the first.
    """
    for item in items:
        if "outside_folder" in getattr(item, "fixturenames", ()):
            item.add_marker("process")
    table = Path(__file__).parent / "durations.txt"
    items[:] = longest_first(items, table.read_text("utf-8"))


def _note_process(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _STARTS and threading.get_ident() not in _older:
        _note_start(event, arguments)


def _note_start(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        words = arguments[1] if isinstance(arguments[1], list | tuple) else [arguments[1]]
        names = {Path(os.fsdecode(word)).name for word in (arguments[0], *words)}
        if not names & _QUICK:
            _started.append(" ".join(map(str, words)))
    else:
        _started.append(event)


def pytest_configure() -> None:
    """Every run finds the tests that start processes and are not marked so."""
    sys.addaudithook(_note_process)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """What was started before is another test's."""
    _older.clear()
    _older.update(thread.ident for thread in threading.enumerate())
    _older.discard(threading.get_ident())
    _started.clear()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Fails a test that started a process and has no mark that announces it."""
    if _started and not any(map(item.get_closest_marker, _STARTING)):
        command = _started[0]
        pytest.fail(f"mark it with @pytest.mark.process: it started {command}", pytrace=False)


def pytest_collection_finish() -> None:
    """Spares the collector what lives to the end anyway, so that a collection takes little."""
    gc.collect()
    gc.freeze()


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
            if name.startswith(("HISA_", "OPENAI_")) and name not in _ALLOWED_VARIABLES:
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
