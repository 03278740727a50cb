"""What installed packages add to HiSA: the entry-point groups ``hisa.*``, each asked by name.

What a package offers is imported when it is asked for by its name, never
before; the names of HiSA's own parts are looked up first, so that no package can take one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, get_args

from hisa.errors import OperatorError, PluginFailed

__all__ = [
    "ENTRY_POINT_GROUPS", "EntryPointGroup", "announced_names", "blaming_package", "describe_point",
    "find", "is_ours", "load", "make", "points", "source",
]  # fmt: skip

EntryPointGroup = Literal[
    "tools", "grounders", "environments", "metrics", "models", "commands", "tasks", "lists"
]
ENTRY_POINT_GROUPS: tuple[EntryPointGroup, ...] = get_args(EntryPointGroup)
"""Each is the group ``hisa.NAME``; the documentation page "Adding a part" describes each."""


def points(group: EntryPointGroup) -> tuple[EntryPoint, ...]:
    """The entry points of a group, HiSA's own first, then by name."""
    return _points(group, tuple(sys.path))


@functools.lru_cache(maxsize=32)
def _points(group: EntryPointGroup, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Cached by ``path``, the import path: a benchmark looks up each of its metrics."""
    found = entry_points(group=f"hisa.{group}")
    return tuple(sorted(found, key=lambda point: (not is_ours(point), point)))


def is_ours(point: EntryPoint) -> bool:
    """Whether it is a part of HiSA itself."""
    return point.value.startswith("hisa.")


def source(point: EntryPoint) -> str:
    """The package that announces it."""
    return point.dist.name if point.dist is not None else point.value


def describe_point(group: EntryPointGroup, point: EntryPoint) -> str:
    """Returns the name that errors use for an entry point, with its package."""
    return f"{group.removesuffix('s')} {point.name!r} of package {source(point)!r}"


def announced_names(group: EntryPointGroup) -> tuple[str, ...]:
    """The names announced in a group, sorted."""
    return tuple(sorted({point.name for point in points(group)}))


def find(group: EntryPointGroup, name: str) -> EntryPoint | None:
    """Returns the entry point of a name, not loaded; None where there is none."""
    return next((point for point in points(group) if point.name == name), None)


def load(group: EntryPointGroup, point: EntryPoint) -> Any:
    """Returns what an entry point stands for.

    Raises:
        PluginFailed: it cannot be imported; names the package.
    """
    with blaming_package(group, point):
        return point.load()


def make(group: EntryPointGroup, name: str, *arguments: Any, **named: Any) -> Any:
    """Returns what the factory of a name makes of the arguments; None where there is no factory.

    Raises:
        OperatorError: as the factory raised it.
        PluginFailed: it cannot be imported, or raised anything else; names the package.
    """
    point = find(group, name)
    if point is None:
        return None
    factory = load(group, point)
    with blaming_package(group, point):
        return factory(*arguments, **named)


@contextmanager
def blaming_package(group: EntryPointGroup, point: EntryPoint) -> Iterator[None]:
    """Turn what a package raises inside into an error that names the package."""
    try:
        yield
    except OperatorError:
        raise
    except Exception as error:  # a package may raise anything
        words = f"{type(error).__name__}: {error}"
        raise PluginFailed(f"{describe_point(group, point)}: {words}") from error
