"""Files of task files that come from the internet: fetched once, kept by address, checked by hash.

A cached file is ``uuid5(URL)_NAME`` beside ``uuid5(URL)_NAME.sha256``; one that does not match its
hash (cut short, changed) counts as absent. A partial download ends in ``.part``.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from hisa.config import TaskSettings
from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.storage import Lock, replace_file
from hisa.plugins.benchmarks.tasks.download import download_to

__all__ = ["FileCache"]

_POLL = 0.2
"""Seconds between checks whether another process has downloaded a file."""


class FileCache:
    """A folder of downloaded files.

    Args:
        folder: where they are kept; by default ``$XDG_CACHE_HOME/hisa/tasks``.
        fetch: downloads a missing file; by default from the internet.
        allowed: beginnings of addresses that may be used although they are on a private network.
    """

    def __init__(
        self,
        folder: Path | None = None,
        fetch: Callable[[str], Awaitable[bytes]] | None = None,
        *,
        allowed: Sequence[str] = (),
    ) -> None:
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        self.folder = folder or Path(home).expanduser() / "hisa" / "tasks"
        self.allowed = tuple(allowed)
        self._fetch = fetch

    @classmethod
    def by(cls, settings: TaskSettings, folder: Path | None = None) -> FileCache:
        """Returns a cache with the private addresses that the settings allow."""
        return cls(folder, allowed=settings.allow_private_downloads)

    def path(self, url: str) -> Path:
        """Returns the path of an address's file in the cache, whether it exists or not.

        Raises:
            UsageError: not an http or https address.
        """
        try:
            address = urlsplit(url)
        except ValueError as error:
            raise UsageError(f"{url!r} is not an address: {error}") from error
        if address.scheme not in ("http", "https") or not address.netloc:
            raise UsageError(f"{url[:200]!r}: only http and https addresses are downloaded")
        name = re.sub(r"[^A-Za-z0-9._-]", "_", address.path.rpartition("/")[2])[-80:]
        return self.folder / f"{uuid.uuid5(uuid.NAMESPACE_URL, url)}_{name or 'file'}"

    def holds(self, url: str) -> bool:
        """Whether the file is there and complete."""
        path = self.path(url)
        try:
            expected_hash = _hash_of(path).read_text("ascii")
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == expected_hash
        except (OSError, UnicodeDecodeError):
            return False

    async def fetch(self, url: str) -> None:
        """Download a file, unless it is there.

        Raises:
            UsageError: not an http or https address, or one on a private network.
            EnvironmentFailed: it is not there and cannot be downloaded.
        """
        if await asyncio.to_thread(self.holds, url):
            return
        if self._fetch is not None:
            await asyncio.to_thread(self.put, url, await self._fetch(url))
            return
        path = self.path(url)
        await asyncio.to_thread(self.folder.mkdir, parents=True, exist_ok=True)
        lock = await asyncio.to_thread(_take_lock, path.with_name(path.name + ".lock"))
        try:
            if not await asyncio.to_thread(self.holds, url):  # another process was quicker
                await self._download(url, path)
        finally:
            lock.release()

    async def _download(self, url: str, path: Path) -> None:
        part = path.with_name(path.name + ".part")
        try:
            await download_to(url, part, self.allowed)
            await asyncio.to_thread(_finish, part, path)
        finally:
            await asyncio.to_thread(part.unlink, missing_ok=True)

    def put(self, url: str, data: bytes) -> Path:
        """Store a file under an address."""
        path = self.path(url)
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
        replace_file(_hash_of(path), hashlib.sha256(data).hexdigest().encode())
        return path

    async def get(self, url: str) -> bytes:
        """Returns the content of a file, downloaded if it is not there yet.

        Raises:
            UsageError: not an http or https address, or one on a private network.
            EnvironmentFailed: it is not there and cannot be downloaded.
        """
        await self.fetch(url)
        path = self.path(url)
        data, expected_hash = await asyncio.to_thread(
            lambda: (path.read_bytes(), _hash_of(path).read_text("ascii"))
        )
        if hashlib.sha256(data).hexdigest() != expected_hash:
            raise EnvironmentFailed(f"{url}: changed in {self.folder} while it was read")
        return data


def _hash_of(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _take_lock(path: Path) -> Lock:
    """Wait until no other process downloads the same file."""
    while (lock := Lock.take(path)) is None:
        time.sleep(_POLL)
    return lock


def _finish(part: Path, path: Path) -> None:
    """Move a complete download into place; the file appears only with the last line."""
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    replace_file(_hash_of(path), digest.encode())
    os.replace(part, path)
