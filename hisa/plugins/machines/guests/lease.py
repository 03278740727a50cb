"""Leases guests that several workers share: one worker at a time, by a lock that ends with it.

``$XDG_CACHE_HOME/hisa/guests/`` has a lock file for each address; the file's time is that of the
last lease.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from hisa.errors import EnvironmentFailed
from hisa.machine.storage import Lock
from hisa.plugins.machines.guests.address import Address

__all__ = ["Lease"]

_PATIENCE_SECONDS, _POLL_SECONDS = 10.0, 0.2


class Lease:
    """One of several guests, held exclusively until `release`."""

    def __init__(self, address: Address, lock: Lock) -> None:
        self.address = address
        self._lock = lock

    @classmethod
    async def take(cls, addresses: Sequence[Address]) -> Lease:
        """Leases the least recently used guest; waits a moment if all are in use.

        Raises:
            EnvironmentFailed: all stay in use.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (lease := cls._free(addresses)) is None:
            if time.monotonic() >= deadline:
                holders = ", ".join(
                    f"{a.url} by process {Lock.holder(_file(a))}" for a in addresses
                )
                raise EnvironmentFailed(
                    f"every guest is in use: {holders}", fix="wait, or name more guests"
                )
            await asyncio.sleep(_POLL_SECONDS)
        return lease

    @classmethod
    def _free(cls, addresses: Sequence[Address]) -> Lease | None:
        for address in sorted(addresses, key=_last_leased):
            lock = Lock.take(_file(address))
            if lock is not None:
                return cls(address, lock)
        return None

    def release(self) -> None:
        """Releases the guest for others."""
        self._lock.release()


def _file(address: Address) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "hisa" / "guests"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / hashlib.sha256(address.url.encode()).hexdigest()[:24]


def _last_leased(address: Address) -> float:
    try:
        return _file(address).stat().st_mtime
    except FileNotFoundError:
        return 0.0
