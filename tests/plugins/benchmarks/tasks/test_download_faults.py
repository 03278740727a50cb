"""Downloads over a real server that cuts, lies, changes its file, or knows no ranges."""

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
OTHER = BODY[::-1]


class Site:
    """A file that is served with faults."""

    def __init__(self) -> None:
        self.cuts: list[int] = []
        """After how many bytes each next response ends, from the first."""
        self.body, self.tag, self.ranges, self.status = BODY, '"one"', True, 200
        self.changes = False
        self.said: int | None = None
        self.skew = 0
        self.asked: list[tuple[str, str, str]] = []

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range", "")
        self.asked.append((handler.command, handler.path, wanted))
        start, status = 0, self.status
        if wanted and self.ranges and handler.headers["If-Range"] == self.tag:
            start, status = int(wanted[6:-1]) + self.skew, 206
        rest = self.body[start:]
        handler.send_response(status)
        if self.tag:
            handler.send_header("ETag", self.tag)
        if status == 206:
            whole = len(self.body)
            handler.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        handler.send_header("Content-Length", str(self.said or len(rest)))
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(rest[: self.cuts.pop(0)] if self.cuts else rest)
            if self.changes:
                self.body, self.tag, self.changes = OTHER, '"two"', False


@pytest.fixture
def site() -> Iterator[tuple[Site, str]]:
    given = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given.answer(self)

        do_HEAD = do_GET

        def log_message(self, *args: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield given, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def cache(folder: Path, base: str, mirror: str = "") -> FileCache:
    return FileCache(folder, allowed=[f"{base}/"], mirror=mirror)


def ranges(given: Site) -> list[str]:
    return [wanted for method, _, wanted in given.asked if method == "GET"]


async def test_a_cut_download_goes_on_where_it_was(tmp_path: Path, site: tuple[Site, str]) -> None:
    given, base = site
    given.cuts = [300_000, 100_000]
    assert await cache(tmp_path, base).get(f"{base}/a") == BODY
    assert ranges(given) == ["", "bytes=300000-", "bytes=400000-"]
    assert "part" not in " ".join(await asyncio.to_thread(os.listdir, tmp_path))


async def test_what_is_cut_each_time_counts_as_absent_and_is_gone_on_with(
    tmp_path: Path, site: tuple[Site, str]
) -> None:
    given, base = site
    given.cuts = [1000, 1000, 1000]
    files = cache(tmp_path, base)
    with pytest.raises(EnvironmentFailed, match="cannot be downloaded"):
        await files.fetch(f"{base}/a")
    assert not files.holds(f"{base}/a")
    assert await cache(tmp_path, base).get(f"{base}/a") == BODY
    assert ranges(given)[-1] == "bytes=3000-"


@pytest.mark.parametrize("fault", ["no ranges", "no version", "changed"])
async def test_parts_of_two_versions_are_never_joined(
    tmp_path: Path, site: tuple[Site, str], fault: str
) -> None:
    given, base = site
    given.cuts = [300_000]
    given.ranges = fault != "no ranges"
    given.tag = "" if fault == "no version" else given.tag
    given.changes = fault == "changed"
    assert await cache(tmp_path, base).get(f"{base}/a") == (OTHER if fault == "changed" else BODY)
    assert len(given.asked) == 2


async def test_another_part_than_was_asked_for_is_not_used(
    tmp_path: Path, site: tuple[Site, str]
) -> None:
    given, base = site
    given.cuts, given.skew = [300_000], 7
    assert await cache(tmp_path, base).get(f"{base}/a") == BODY
    assert ranges(given) == ["", "bytes=300000-", ""]


async def test_a_wrong_length_or_a_missing_file_is_no_file(
    tmp_path: Path, site: tuple[Site, str]
) -> None:
    given, base = site
    files = cache(tmp_path, base)
    given.said = len(BODY) + 5
    with pytest.raises(EnvironmentFailed, match="cannot be downloaded"):
        await files.fetch(f"{base}/long")
    given.said, given.status, given.asked = None, 404, []
    with pytest.raises(EnvironmentFailed, match="404"):
        await files.fetch(f"{base}/gone")
    assert len(given.asked) == 1
    assert await files.size(f"{base}/gone") is None
    assert not files.holds(f"{base}/long")
    assert not files.holds(f"{base}/gone")


async def test_a_stopped_download_leaves_no_file_and_goes_on(
    tmp_path: Path, site: tuple[Site, str]
) -> None:
    _, base = site
    files = cache(tmp_path, base)
    seen: list[tuple[int, int | None]] = []

    def stop(done: int, total: int | None) -> None:
        seen.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await files.fetch(f"{base}/a", stop)
    assert seen[0][1] == len(BODY)
    assert not files.holds(f"{base}/a")
    assert await files.get(f"{base}/a") == BODY


async def test_two_at_once_download_it_once(tmp_path: Path, site: tuple[Site, str]) -> None:
    given, base = site
    one, other = cache(tmp_path, base), cache(tmp_path, base)
    first, second = await asyncio.gather(one.get(f"{base}/a"), other.get(f"{base}/a"))
    assert first == second == BODY
    assert len(given.asked) == 1


async def test_a_mirror_is_asked_in_place_of_the_address(
    tmp_path: Path, site: tuple[Site, str]
) -> None:
    given, base = site
    files = FileCache(tmp_path, mirror=f"{base}/files/")
    url = "https://far.example/dir/a.xlsx?download=true"
    assert await files.size(url) == len(BODY)
    assert await files.get(url) == BODY
    assert {path for _, path, _ in given.asked} == {"/files/far.example/dir/a.xlsx?download=true"}
    assert FileCache(tmp_path).holds(url)
