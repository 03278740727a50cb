"""Files of task files that come from the internet: fetched once, kept by address, checked by hash.

A cached file is ``uuid5(URL)_NAME`` beside ``uuid5(URL)_NAME.sha256``; one that does not match its
hash (cut short, changed) counts as absent.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import os
import re
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from hisa.errors import UsageError
from hisa.machine.storage import replace_file
from hisa.tasks.download import download

__all__ = ["FileCache"]


class FileCache:
    """A folder of downloaded files.

    Args:
        folder: where they are kept; by default ``$XDG_CACHE_HOME/hisa/tasks``.
        fetch: how a missing one is got; by default from the internet.
        allowed: beginnings of addresses on a private network that may be downloaded from.
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
        self._fetch = fetch or functools.partial(download, allowed=self.allowed)

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
        replace_file(path, data)
        replace_file(_hash_of(path), hashlib.sha256(data).hexdigest().encode())
        return path

    async def get(self, url: str) -> bytes:
        """The file; downloaded where it is not there yet.

        Raises:
            UsageError: not an http or https address, or one on a private network.
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
