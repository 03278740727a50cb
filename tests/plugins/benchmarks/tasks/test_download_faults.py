"""Downloads over a real server that cuts or lies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.cache import FileCache

BODY = bytes(range(256)) * 4000


class Site:
    """A file that is served with faults."""

    def __init__(self) -> None:
        self.cuts: list[int] = []
        """After how many bytes each next response ends, from the first."""
        self.status = 200
        self.declared_length: int | None = None
        self.requested_paths: list[str] = []

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requested_paths.append(handler.path)
        handler.send_response(self.status)
        handler.send_header("Content-Length", str(self.declared_length or len(BODY)))
        handler.end_headers()
        handler.wfile.write(BODY[: self.cuts.pop(0)] if self.cuts else BODY)


@pytest.fixture
def site() -> Iterator[tuple[Site, str]]:
    faulty_site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            faulty_site.answer(self)

        def log_message(self, *args: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield faulty_site, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def cache(folder: Path, base: str) -> FileCache:
    return FileCache(folder, allowed=[f"{base}/"])


async def test_a_cut_download_is_made_again(tmp_path: Path, site: tuple[Site, str]) -> None:
    faulty_site, base = site
    faulty_site.cuts = [300_000, 100_000]
    assert await cache(tmp_path, base).get(f"{base}/a") == BODY
    assert len(faulty_site.requested_paths) == 3
    assert "part" not in " ".join(await asyncio.to_thread(os.listdir, tmp_path))


async def test_repeatedly_cut_download_counts_as_absent(
    tmp_path: Path, site: tuple[Site, str]
) -> None:
    faulty_site, base = site
    faulty_site.cuts = [1000, 1000, 1000]
    files = cache(tmp_path, base)
    with pytest.raises(EnvironmentFailed, match="cannot be downloaded"):
        await files.fetch(f"{base}/a")
    assert not files.holds(f"{base}/a")
    assert "part" not in " ".join(await asyncio.to_thread(os.listdir, tmp_path))
    assert await files.get(f"{base}/a") == BODY


async def test_download_of_wrong_length_or_missing_file_fails(
    tmp_path: Path, site: tuple[Site, str]
) -> None:
    faulty_site, base = site
    files = cache(tmp_path, base)
    faulty_site.declared_length = len(BODY) + 5
    with pytest.raises(EnvironmentFailed, match="cannot be downloaded"):
        await files.fetch(f"{base}/long")
    faulty_site.declared_length, faulty_site.status, faulty_site.requested_paths = None, 404, []
    with pytest.raises(EnvironmentFailed, match="404"):
        await files.fetch(f"{base}/gone")
    assert len(faulty_site.requested_paths) == 1
    assert not files.holds(f"{base}/long")
    assert not files.holds(f"{base}/gone")


async def test_two_at_once_download_it_once(tmp_path: Path, site: tuple[Site, str]) -> None:
    faulty_site, base = site
    left, right = cache(tmp_path, base), cache(tmp_path, base)
    first, second = await asyncio.gather(left.get(f"{base}/a"), right.get(f"{base}/a"))
    assert first == second == BODY
    assert len(faulty_site.requested_paths) == 1
