"""What installed packages add to HiSA: the entry-point groups ``hisa.*``, each asked by name.

A door is one group. What a package offers is imported when it is asked for by its name, never
before; the names of HiSA's own parts are looked up first, so that no package can take one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from hisa.errors import OperatorError, PluginFailed

__all__ = [
    "DOORS",
    "Door",
    "find",
    "is_ours",
    "load",
    "make",
    "naming",
    "offered",
    "points",
    "source",
    "whose",
]

Door = Literal["tools", "grounders", "environments", "metrics", "models"]
DOORS: tuple[Door, ...] = ("tools", "grounders", "environments", "metrics", "models")
"""Each is the group ``hisa.NAME``; docs/adding.md says what stands behind it."""


def points(door: Door) -> tuple[EntryPoint, ...]:
    """Everything announced at a door, HiSA's own first, then by name."""
    return _points(door, tuple(sys.path))


@functools.lru_cache(maxsize=32)
def _points(door: Door, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Kept by ``path``, where packages are looked for: a benchmark asks for each of its metrics."""
    found = entry_points(group=f"hisa.{door}")
    return tuple(sorted(found, key=lambda point: (not is_ours(point), point)))


def is_ours(point: EntryPoint) -> bool:
    """Whether it is a part of HiSA itself."""
    return point.value.startswith("hisa.")


def source(point: EntryPoint) -> str:
    """The package that announces it."""
    return point.dist.name if point.dist is not None else point.value


def whose(door: Door, point: EntryPoint) -> str:
    """How errors name it: with its package."""
    return f"{door.removesuffix('s')} {point.name!r} of package {source(point)!r}"


def offered(door: Door) -> tuple[str, ...]:
    """The names announced at a door, sorted."""
    return tuple(sorted({point.name for point in points(door)}))


def find(door: Door, name: str) -> EntryPoint | None:
    """What is announced under a name, not loaded; None where nothing is."""
    return next((point for point in points(door) if point.name == name), None)


def load(door: Door, point: EntryPoint) -> Any:
    """Returns what an entry point stands for.

    Raises:
        PluginFailed: it cannot be imported; names the package.
    """
    with naming(door, point):
        return point.load()


def make(door: Door, name: str, *arguments: Any, **named: Any) -> Any:
    """Returns what the factory of a name makes of the arguments; None where there is no factory.

    Raises:
        OperatorError: as the factory raised it.
        PluginFailed: it cannot be imported, or raised anything else; names the package.
    """
    point = find(door, name)
    if point is None:
        return None
    factory = load(door, point)
    with naming(door, point):
        return factory(*arguments, **named)


@contextmanager
def naming(door: Door, point: EntryPoint) -> Iterator[None]:
    """Inside, what a package raises becomes an error that names it."""
    try:
        yield
    except OperatorError:
        raise
    except Exception as error:  # a package may raise anything
        words = f"{type(error).__name__}: {error}"
        raise PluginFailed(f"{whose(door, point)}: {words}") from error
