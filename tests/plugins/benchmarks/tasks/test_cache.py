"""Files of the internet are fetched once, kept whole, and only from the internet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.download import require_public_address
from hisa.protocols import Task
from hisa.tasks.scorer import TaskScorer
from tests.plugins.benchmarks.tasks.machine import Machine

URL = "https://x.org/dir/My%20File.xlsx?download=true"


class CountingFetch:
    """Gives a file and counts how often it was asked."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, url: str) -> bytes:
        self.count += 1
        return url.encode()


async def test_a_file_is_fetched_once_and_stored_under_its_address(tmp_path: Path) -> None:
    fetch = CountingFetch()
    cache = FileCache(tmp_path / "new", fetch)
    assert not cache.holds(URL)
    assert await cache.get(URL) == URL.encode()
    assert await cache.get(URL) == URL.encode()
    assert fetch.count == 1
    assert cache.holds(URL)
    assert cache.path(URL).name.endswith("_My_20File.xlsx")
    assert cache.path(URL) != cache.path(URL + "1")
    left = {path.name for path in await asyncio.to_thread(lambda: [*(tmp_path / "new").iterdir()])}
    assert left == {cache.path(URL).name, cache.path(URL).name + ".sha256"}


async def test_a_file_cut_short_is_fetched_again(tmp_path: Path) -> None:
    fetch = CountingFetch()
    cache = FileCache(tmp_path, fetch)
    await cache.get(URL)
    cache.path(URL).write_bytes(b"cut")
    assert not cache.holds(URL)
    assert await cache.get(URL) == URL.encode()
    assert fetch.count == 2


requested_paths: list[str] = []
"""Paths that reached the server."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        requested_paths.append(self.path)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            return
        good = self.path == "/good"
        self.send_response(200 if good else 404)
        self.end_headers()
        self.wfile.write(b"data" if good else b"none")

    def log_message(self, *args: object) -> None:
        """Silent."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        thread = Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


PRIVATE = (
    "127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "127.1", "2130706433", "0x7f000001",
    "0177.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "224.0.0.1", "[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
)  # fmt: skip


@pytest.mark.parametrize("host", PRIVATE)
async def test_private_networks_are_refused_in_every_notation(tmp_path: Path, host: str) -> None:
    url = f"http://{host}/secret"
    with pytest.raises(UsageError, match="not on the public internet") as caught:
        await FileCache(tmp_path).get(url)
    assert host.strip("[]").lower() in str(caught.value)
    assert f'tasks.allow_private_downloads=["http://{host}/"]' in caught.value.fix
    with pytest.raises(UsageError, match="not on the public internet"):
        require_public_address(url)
    require_public_address(url, [f"http://{host}/"])


@pytest.mark.parametrize(
    "host", ["93.184.215.14", "example.org", "[2606:2800::1]", "127.0.0.1.x.org"]
)
def test_the_public_internet_is_not_refused(host: str) -> None:
    require_public_address(f"https://{host}/a")


async def test_file_cache_never_reaches_a_private_server(tmp_path: Path, server: str) -> None:
    requested_paths.clear()
    with pytest.raises(UsageError, match="not on the public internet"):
        await FileCache(tmp_path).get(f"{server}/good")
    cache = FileCache(tmp_path, allowed=[f"{server}/to/"])
    with pytest.raises(UsageError, match="not on the public internet"):
        await cache.get(f"{server}/to/{server}/good")
    with pytest.raises(UsageError, match="only http and https"):
        await cache.get(f"{server}/to/file:///etc/passwd")
    assert "/good" not in requested_paths
    partly_allowed_cache = FileCache(tmp_path, allowed=[f"{server}/"])
    assert await partly_allowed_cache.get(f"{server}/to/{server}/good") == b"data"


@pytest.mark.parametrize(
    "allowed",
    ["http://127.0.0.1:1/", "http://127.0.0.1", "https://127.0.0.1:8/", "http://127.0.0.1:8/b"],
)
def test_an_allowed_address_allows_no_other(allowed: str) -> None:
    with pytest.raises(UsageError, match="not on the public internet"):
        require_public_address("http://127.0.0.1:8/a", [allowed])


@pytest.mark.parametrize("climbs", ["/..", "/%2e%2e", "/.%2E", "\\..", "/x/../.."])
def test_an_allowed_folder_is_not_climbed_out_of(climbs: str) -> None:
    require_public_address("http://127.0.0.1:8/to/a..b", ["http://127.0.0.1:8/to/"])
    with pytest.raises(UsageError, match="not on the public internet"):
        require_public_address(f"http://127.0.0.1:8/to{climbs}/a", ["http://127.0.0.1:8/to"])


async def test_a_private_address_is_refused_before_a_run(tmp_path: Path) -> None:
    expected = {"type": "cloud_file", "path": "http://169.254.169.254/latest", "dest": "a"}
    result = {"type": "vm_file", "path": "/home/user/a", "dest": "b"}
    check = {"func": "compare_csv", "result": result, "expected": expected}
    task = Task(id="t", instruction="x", check=check, folder=str(tmp_path))
    machine = Machine()
    with pytest.raises(UsageError, match=r"169\.254\.169\.254"):
        await TaskScorer(cache=FileCache(tmp_path)).prepare(task, machine)
    assert machine.lines == []
