"""Files of the internet are fetched once, kept whole, and only from the internet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from hisa.errors import EnvironmentFailed, UsageError
from hisa.tasks.cache import FileCache

URL = "https://x.org/dir/My%20File.xlsx?download=true"


class Counted:
    """Gives a file and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, url: str) -> bytes:
        self.asked += 1
        return url.encode()


async def test_a_file_is_fetched_once_and_kept_under_its_address(tmp_path: Path) -> None:
    fetch = Counted()
    cache = FileCache(tmp_path / "new", fetch)
    assert not cache.holds(URL)
    assert await cache.get(URL) == URL.encode()
    assert await cache.get(URL) == URL.encode()
    assert fetch.asked == 1
    assert cache.holds(URL)
    assert cache.path(URL).name.endswith("_My_20File.xlsx")
    assert cache.path(URL) != cache.path(URL + "1")
    left = {path.name for path in await asyncio.to_thread(lambda: [*(tmp_path / "new").iterdir()])}
    assert left == {cache.path(URL).name, cache.path(URL).name + ".sha256"}


async def test_a_file_cut_short_is_fetched_again(tmp_path: Path) -> None:
    fetch = Counted()
    cache = FileCache(tmp_path, fetch)
    await cache.get(URL)
    cache.path(URL).write_bytes(b"cut")
    assert not cache.holds(URL)
    assert await cache.get(URL) == URL.encode()
    assert fetch.asked == 2


@pytest.mark.parametrize("url", ["file:///etc/passwd", "/etc/passwd", "ftp://x/a", "https://", "x"])
def test_only_the_internet(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="only http"):
        FileCache(tmp_path).path(url)


def test_a_name_leads_nowhere_else(tmp_path: Path) -> None:
    for url in ("https://x.org/..", "https://x.org/a/../..", "https://x.org/%2e%2e%2fa"):
        assert FileCache(tmp_path).path(url).parent == tmp_path


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
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


async def test_downloads(tmp_path: Path, server: str) -> None:
    cache = FileCache(tmp_path)
    assert await cache.get(f"{server}/good") == b"data"
    with pytest.raises(EnvironmentFailed, match="cannot be downloaded"):
        await cache.get(f"{server}/bad")
    assert not cache.holds(f"{server}/bad")
