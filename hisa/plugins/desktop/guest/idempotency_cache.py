"""Does each piece of work at most once: the first response to an id is the only one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

__all__ = ["IdempotencyCache"]

_Response = TypeVar("_Response")
_CAPACITY = 4096
"""Number of ids that are remembered; chosen by hand."""


class IdempotencyCache(Generic[_Response]):
    """Remembers responses by id; a second call waits for the first and gets its response."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._responses: OrderedDict[str, Future[_Response]] = OrderedDict()

    def run(self, key: str, work: Callable[[], _Response]) -> _Response:
        """Does ``work`` unless ``key`` was seen before; returns or raises the work's result."""
        with self._lock:
            future = self._responses.get(key)
            is_first = future is None
            if future is None:
                future = self._responses[key] = Future()
                self._forget()
        if is_first:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()

    def _forget(self) -> None:
        while len(self._responses) > self._capacity and next(iter(self._responses.values())).done():
            self._responses.popitem(last=False)
