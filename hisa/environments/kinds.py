"""Kinds of environments: what packages announce in the entry-point group ``hisa.environments``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, get_args

from hisa.config import EnvironmentSettings, Family
from hisa.errors import OperatorError, PluginFailed, UsageError
from hisa.machine import plugins
from hisa.machine.probes import Probe
from hisa.protocols import Environment

__all__ = [
    "EnvironmentKind",
    "Note",
    "find_kind",
    "load_kind",
    "probe_kinds",
    "require_linux",
]

Note = Callable[[str], None]
"""Called with a message about what takes long, or about what a reader of the run should know."""


@dataclass(frozen=True)
class EnvironmentKind:
    """A kind of environment; one that can only be opened may be announced as a plain function."""

    open: Callable[..., Environment]
    """Called with the value behind the name, and by keyword with ``settings``, ``image_limit`` and
    ``note``, a `Note`; a plain function as an entry point gets no ``note``."""
    spellings: tuple[str, ...] = ()
    """How errors list it among HiSA's own kinds: "desktop", "desktop:PROFILE"; empty: the
    announced name."""
    takes: frozenset[str] = frozenset()
    """Contains "share" if the kind obeys that setting; otherwise the setting is refused."""
    attach: Callable[..., Environment] | None = None
    """Called with the handle that an environment's ``belongs_to`` returned (see
    `hisa.protocols.Detachable`), the value, and ``image_limit`` by keyword; returns the environment
    that an earlier process left running, not entered yet, or raises EnvironmentFailed if it is
    gone. None: none of its machines outlives the process that started it."""
    probes: Callable[[], Iterable[Probe]] = tuple
    """The lines of ``hisa doctor`` about it; may block for seconds."""
    probe: Callable[[Environment], Coroutine[Any, Any, list[Probe]]] | None = None
    """Probes each machine that an environment of this kind may use, for ``hisa doctor``; reverts
    and starts nothing."""
    system: Callable[[str], Path] | None = None
    """Returns the folder of a profile's built system, which a private desktop shows in place of
    this machine's own; raises UsageError if there is none."""


def require_linux(machine: str) -> None:
    """Refuse a machine that only Linux can start.

    Raises:
        UsageError: this is another system.
    """
    if sys.platform != "linux":
        raise UsageError(f"{machine} needs Linux, and this is {sys.platform}", fix="--env screen")


def load_kind(point: EntryPoint) -> EnvironmentKind:
    """Returns the kind of an entry point.

    Raises:
        PluginFailed: it cannot be imported; the message names the package.
    """
    loaded = plugins.load("environments", point)
    if isinstance(loaded, EnvironmentKind):
        return loaded

    def open_plain(value: str, *, note: Note, **named: Any) -> Environment:
        environment: Environment = loaded(value, **named)
        return environment

    return EnvironmentKind(open_plain)


def find_kind(settings: EnvironmentSettings) -> tuple[EntryPoint, EnvironmentKind, str]:
    """Returns the kind that the settings name: its entry point, the kind, and the value after it.

    Raises:
        UsageError: nobody announces it; the message lists those that are allowed.
        PluginFailed: the package that has it cannot be imported.
    """
    name, value = str(settings.family), settings.value
    foreign = name == "package"
    if foreign:
        name, _, value = settings.value.partition("=")
    point = plugins.find("environments", name)
    is_own = point is not None and plugins.is_ours(point)
    misspelt = foreign and is_own and (value or name in get_args(Family))
    if point is None or misspelt or not (foreign or is_own):
        raise UsageError(
            f"environment {settings.kind!r}: allowed are {', '.join(_list_spellings())}",
            fix="--env desktop",
        )
    return point, load_kind(point), value


def _list_spellings() -> list[str]:
    """Lists all spellings, the default first, then HiSA's own; imports no other package."""
    spellings: dict[str, None] = {}
    default = EnvironmentSettings().kind
    for point in plugins.points("environments"):
        own: tuple[str, ...] = ()
        if plugins.is_ours(point):
            with suppress(PluginFailed):
                own = load_kind(point).spellings
        elif point.name == default:
            continue  # no package can take it
        spellings |= dict.fromkeys(own or (point.name,))
    return sorted(spellings, key=lambda spelling: spelling.partition(":")[0] != default)


def probe_kinds() -> Iterator[Probe]:
    """Yields the probes of this machine by all kinds that can be imported."""
    for point in plugins.points("environments"):
        try:
            kind = load_kind(point)
        except PluginFailed:
            continue
        try:
            with plugins.blaming_package("environments", point):
                yield from list(kind.probes())
        except OperatorError as error:
            yield Probe(point.name, False, str(error), error.fix, needed=False)
        except PluginFailed as error:
            yield Probe(point.name, False, str(error), needed=False)
