"""Finds the parts that installed packages add to HiSA, by the entry-point groups ``hisa.*``.

An entry point is imported when its name is used, never before. The names of HiSA's own parts are
looked up first, so no package can take one.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

from hisa.errors import OperatorError, PluginFailed

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

__all__ = [
    "ENTRY_POINT_GROUPS",
    "Command",
    "EntryPointGroup",
    "Later",
    "OpenedTools",
    "announced_names",
    "blaming_package",
    "default_name",
    "describe_point",
    "find",
    "is_left_out",
    "is_ours",
    "load",
    "make",
    "points",
    "source",
]

EntryPointGroup = Literal[
    "tools",
    "grounders",
    "environments",
    "metrics",
    "models",
    "commands",
    "tasks",
    "lists",
    "planners",
    "hooks",
]
ENTRY_POINT_GROUPS: tuple[EntryPointGroup, ...] = get_args(EntryPointGroup)
"""Names of the groups ``hisa.NAME``; the documentation page "Adding a part" describes them."""


@dataclass(frozen=True)
class Later:
    """A reference to a part that is imported on first use, so announcing it costs nothing.

    Args:
        place: where the part is, as ``package.module:name``.
    """

    place: str

    def load(self) -> Any:
        """Returns the part, imported now."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Command(Later):
    """A command of ``hisa``, announced in ``hisa.commands``: a click command.

    Args:
        help: one sentence, for lists of commands.
        after: the command after which it is listed; empty: at the end.
    """

    help: str
    after: str = ""


@dataclass(frozen=True)
class OpenedTools(Later):
    """Tools that are opened with a run and closed at its end, announced in ``hisa.tools``.

    The entry point has the name of the section below ``tools`` in the settings. The part is called
    with that section, a function that writes a note to the run's log, and ``reserved``, the tool
    names that are already used. It returns an async context manager that yields the tools.
    """


def points(group: EntryPointGroup) -> tuple[EntryPoint, ...]:
    """Returns the entry points of a group, HiSA's own first, then by name."""
    return _points(group, tuple(sys.path))


@functools.lru_cache(maxsize=32)
def _points(group: EntryPointGroup, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Caches by ``path``, the import path: a benchmark looks up each of its metrics."""
    from importlib.metadata import entry_points  # slow to import: half of `hisa --version`

    entries = entry_points(group=f"hisa.{group}")
    return tuple(sorted(entries, key=lambda point: (not is_ours(point), point)))


def is_ours(point: EntryPoint) -> bool:
    """Whether an entry point belongs to HiSA itself."""
    return point.value.startswith("hisa.")


def is_left_out(point: EntryPoint) -> bool:
    """Whether an entry point belongs to a HiSA plugin that this installation lacks."""
    package = ".".join(point.module.split(".")[:3])
    try:
        return package.startswith("hisa.plugins.") and not getattr(find_spec(package), "origin", 0)
    except ModuleNotFoundError:  # the plugins' folder itself is missing
        return True


def source(point: EntryPoint) -> str:
    """Returns the name of the package that announces an entry point."""
    return _package(point.dist) if point.dist is not None else point.value


@functools.lru_cache(maxsize=64)
def _package(distribution: Distribution) -> str:
    """Caches a distribution's name: getting it reads all of the package's metadata."""
    return distribution.name


def describe_point(group: EntryPointGroup, point: EntryPoint) -> str:
    """Returns the name that errors use for an entry point, with its package."""
    return f"{group.removesuffix('s')} {point.name!r} of package {source(point)!r}"


def announced_names(group: EntryPointGroup) -> tuple[str, ...]:
    """Returns the names announced in a group, sorted."""
    return tuple(sorted({point.name for point in points(group)}))


def find(group: EntryPointGroup, name: str) -> EntryPoint | None:
    """Returns the entry point of a name, without loading it; None if there is none.

    An entry point whose name ends with a colon stands for all names that begin with it.
    """
    known = {point.name: point for point in reversed(points(group))}
    start, colon, _ = name.partition(":")
    return known.get(name) or known.get(start + colon)


def default_name(group: EntryPointGroup) -> str:
    """Returns the name of the part that is also announced as ``default``; empty if none is."""
    default = find(group, "default")
    if default is None:
        return ""
    names = [point.name for point in points(group) if point.value == default.value]
    return next((name for name in names if name != "default"), "default")


def load(group: EntryPointGroup, point: EntryPoint) -> Any:
    """Returns the object of an entry point.

    Raises:
        PluginFailed: it cannot be imported; the message names the package.
    """
    with blaming_package(group, point):
        return point.load()


def make(group: EntryPointGroup, name: str, *arguments: Any, **named: Any) -> Any:
    """Calls the factory of a name; returns its result, or None if there is no factory.

    Args:
        group: the entry-point group of the factory.
        name: the factory's name in that group.
        arguments: passed to the factory.
        named: passed to the factory by keyword.

    Raises:
        OperatorError: as the factory raised it.
        PluginFailed: the factory cannot be imported, or raised anything else; the message names
            the package.
    """
    point = find(group, name)
    if point is None:
        return None
    factory = load(group, point)
    with blaming_package(group, point):
        return factory(*arguments, **named)


@contextmanager
def blaming_package(group: EntryPointGroup, point: EntryPoint) -> Iterator[None]:
    """Turns any exception that a package raises inside into an error that names the package."""
    try:
        yield
    except OperatorError:
        raise
    except Exception as error:  # a package may raise anything
        words = f"{type(error).__name__}: {error}"
        raise PluginFailed(f"{describe_point(group, point)}: {words}") from error
