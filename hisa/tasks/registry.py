"""Named functions: setup steps, getters and metrics are looked up by the names task files use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """What is known under which name.

    Args:
        kind: what the names are names of, for messages: "setup step".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._known: dict[str, T] = {}

    def add(self, name: str, entry: T) -> None:
        """Make ``entry`` known; a name is given once."""
        if name in self._known:
            raise ValueError(f"{self.kind} {name!r} is defined twice")
        self._known[name] = entry

    def register(self, *names: str) -> Callable[[T], T]:
        """A decorator that makes what it decorates known under each of the names."""

        def keep(entry: T) -> T:
            for name in names:
                self.add(name, entry)
            return entry

        return keep

    def get(self, name: str) -> T | None:
        """The entry, or None."""
        return self._known.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._known))
