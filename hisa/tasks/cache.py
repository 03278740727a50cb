"""Files of task files that come from the internet: fetched once, kept by address, checked by hash.

A cached file is ``uuid5(URL)_NAME`` beside ``uuid5(URL)_NAME.sha256``; one that does not match its
hash (cut short, changed) counts as absent.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from hisa.errors import EnvironmentFailed, UsageError
from hisa.tasks.limits import MAX_DOWNLOAD

__all__ = ["FileCache", "fetch"]

_SECONDS = 300.0
_TRIES = 3


async def fetch(url: str) -> bytes:
    """Download a file.

    Raises:
        EnvironmentFailed: it cannot be had; the initial state or the expected file is out of reach.
    """
    import httpx

    problem: Exception | None = None
    for _ in range(_TRIES):
        try:
            async with httpx.AsyncClient(follow_redirects=True, timeout=_SECONDS) as client:
                return await _body(client, url)
        except httpx.HTTPError as error:
            problem = error
    raise EnvironmentFailed(
        f"{url}: cannot be downloaded: {problem}", fix="hisa bench prefetch SUITE, when online"
    ) from problem


async def _body(client: object, url: str) -> bytes:
    import httpx

    assert isinstance(client, httpx.AsyncClient)
    parts: list[bytes] = []
    got = 0
    async with client.stream("GET", url) as response:
        response.raise_for_status()
        async for part in response.aiter_bytes():
            got += len(part)
            if got > MAX_DOWNLOAD:
                raise EnvironmentFailed(f"{url}: larger than {MAX_DOWNLOAD} bytes")
            parts.append(part)
    return b"".join(parts)


class FileCache:
    """A folder of downloaded files.

    Args:
        folder: where they are kept; by default ``$XDG_CACHE_HOME/hisa/tasks``.
        fetch: how a missing one is got.
    """

    def __init__(
        self, folder: Path | None = None, fetch: Callable[[str], Awaitable[bytes]] = fetch
    ) -> None:
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        self.folder = folder or Path(home).expanduser() / "hisa" / "tasks"
        self._fetch = fetch

    def path(self, url: str) -> Path:
        """Where the file of an address is kept, whether it is there or not.

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
        """Whether the file is there and whole."""
        return self._read(self.path(url)) is not None

    def put(self, url: str, data: bytes) -> Path:
        """Keep a file under an address."""
        path = self.path(url)
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(path, data)
        _write(_hash_of(path), hashlib.sha256(data).hexdigest().encode())
        return path

    async def get(self, url: str) -> bytes:
        """The file; downloaded where it is not there yet.

        Raises:
            UsageError: not an http or https address.
            EnvironmentFailed: it is not there and cannot be downloaded.
        """
        data = await asyncio.to_thread(self._read, self.path(url))
        if data is None:
            data = await self._fetch(url)
            await asyncio.to_thread(self.put, url, data)
        return data

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            data, wanted = path.read_bytes(), _hash_of(path).read_text("ascii")
        except (OSError, UnicodeDecodeError):
            return None
        return data if hashlib.sha256(data).hexdigest() == wanted else None


def _hash_of(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _write(path: Path, data: bytes) -> None:
    """All or nothing: another process may read or write the same file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(name, path)
