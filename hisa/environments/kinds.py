"""Kinds of environments: what packages announce in the entry-point group ``hisa.environments``."""

from __future__ import annotations

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
]

Note = Callable[[str], None]
"""Called with what takes long, and with what a reader of the run should know."""


@dataclass(frozen=True)
class EnvironmentKind:
    """A kind of environment that does more than be opened; a plain function does that alone."""

    open: Callable[..., Environment]
    """Called with the value behind the name, and by keyword with ``settings``, ``image_limit`` and
    ``note``, a `Note`; a plain function as an entry point gets no ``note``."""
    spellings: tuple[str, ...] = ()
    """Of HiSA's own, as errors show what is allowed: "desktop", "desktop:PROFILE"; empty: the
    announced name."""
    takes: frozenset[str] = frozenset()
    """Holds "share" where it obeys that setting; where it does not, the setting is refused."""
    attach: Callable[..., Environment] | None = None
    """Called with the handle that an environment's ``belongs_to`` returned (see
    `hisa.protocols.Detachable`), the value, and ``image_limit`` by keyword; returns what an earlier
    process left up, not entered yet, or raises EnvironmentFailed where it is gone. None: none of
    its machines outlives the process that started it."""
    probes: Callable[[], Iterable[Probe]] = tuple
    """The lines of ``hisa doctor`` about it; may block for seconds."""
    probe: Callable[[Environment], Coroutine[Any, Any, list[Probe]]] | None = None
    """Looks at each machine that an environment of its kind may use, for ``hisa doctor``; nothing
    is reverted or started."""
    system: Callable[[str], Path] | None = None
    """Folder of the built system of a profile, which a private desktop shows in place of this
    machine's own; raises UsageError where there is none."""


def load_kind(point: EntryPoint) -> EnvironmentKind:
    """Returns the kind of an entry point.

    Raises:
        PluginFailed: it cannot be imported; names the package.
    """
    loaded = plugins.load("environments", point)
    if isinstance(loaded, EnvironmentKind):
        return loaded

    def open_plain(value: str, *, note: Note, **named: Any) -> Environment:
        environment: Environment = loaded(value, **named)
        return environment

    return EnvironmentKind(open_plain)


def find_kind(settings: EnvironmentSettings) -> tuple[EntryPoint, EnvironmentKind, str]:
    """Returns the kind that the settings name: its entry point, itself, and the value behind it.

    Raises:
        UsageError: nobody announces it; the allowed ones are named.
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
    """All spellings, the default one first, then HiSA's own; no package's is imported for it."""
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
    """Yields what the kinds that can be imported find out about this machine."""
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
