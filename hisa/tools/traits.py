"""What a tool needs and what it may do, declared at its function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from hisa.actions.effects import Effect
from hisa.screen.observation import Observation

__all__ = ["NO_NEEDS", "NO_TRAITS", "Aim", "Needs", "Traits", "tool", "traits_of"]

_ATTRIBUTE = "__hisa_traits__"
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Needs:
    """What must hold before a tool can be used."""

    capabilities: frozenset[str] = frozenset()
    """Capabilities of the environment; see `hisa.protocols.Environment`."""
    apps: tuple[str, ...] = ()
    """Applications by window class, as ``hisa run`` shows it: patterns such as "libreoffice-calc"
    or "chrom*", in lower case. The tool is offered while one of them is in front, and can be used
    while one of them has a window."""
    windows: int = 0
    """The tool is offered only if at least this many windows are open."""
    dialogs: tuple[str, ...] = ()
    """Window classes of its dialogs, if they differ from `apps`: the tool is also offered while one
    of them is in front of the application."""

    def __add__(self, other: Needs) -> Needs:
        """Returns the needs of both; applications are those of ``other`` if it names any."""
        return Needs(
            self.capabilities | other.capabilities,
            other.apps or self.apps,
            max(self.windows, other.windows),
            other.dialogs or self.dialogs,
        )

    def describe_missing(self, capabilities: Iterable[str]) -> str:
        """Returns the missing capabilities in words; empty if none is missing."""
        without = sorted(self.capabilities - set(capabilities))
        return f"the machine lacks {', '.join(without)}" if without else ""

    def in_front(self, observation: Observation) -> bool:
        """Whether the tool's application has the focus; True if it is for none."""
        if len(observation.windows) < self.windows or not self.apps:
            return len(observation.windows) >= self.windows
        focused = False
        for window in reversed(observation.windows):  # the one on top is the last
            focused = focused or window.active
            if focused and not _is_among(window.app, self.dialogs):
                return _is_among(window.app, self.apps)
        return False

    def is_open(self, observation: Observation) -> bool:
        """Whether the application has a window; True if the machine cannot tell."""
        open_ = any(_is_among(window.app, self.apps) for window in observation.windows)
        return not self.apps or not observation.windows_known or open_


def _is_among(app: str, patterns: tuple[str, ...]) -> bool:
    name = app.lower()
    return any(fnmatchcase(name, pattern) for pattern in patterns)


NO_NEEDS = Needs()


@dataclass(frozen=True, slots=True)
class Aim:
    """What a call would press: the words on it, and the words around it that a "Yes" refers to."""

    names: tuple[str, ...]
    around: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Traits:
    """The properties of a tool that its signature does not show."""

    needs: Needs = NO_NEEDS
    effects: tuple[Effect, ...] = ()
    """Effects that a call has, always or with some input: the policy asks about each."""
    reads: bool = False
    """Whether it only reads and changes nothing on the machine."""
    seconds: float = 120.0
    """Time limit of a call."""
    once: bool = False
    """Whether calling it again does not repeat what it did, so that a run cannot be replayed."""
    aim: Callable[..., Awaitable[Aim | None]] | None = None
    """Takes the tool's arguments and returns, without acting, what a call would press; None: it
    presses nothing. The policy asks it before a call."""


NO_TRAITS = Traits()


def tool(
    *,
    needs: Needs = NO_NEEDS,
    effects: tuple[Effect, ...] = (),
    reads: bool = False,
    seconds: float = 120.0,
    once: bool = False,
    aim: Callable[..., Awaitable[Aim | None]] | None = None,
) -> Callable[[Function], Function]:
    """Declare what a tool needs and does. The function itself is not changed.

    Args:
        needs: what must hold before it is offered.
        effects: what it may do that a person may want to be asked about.
        reads: whether it only reads.
        seconds: time limit of a call.
        once: whether calling it again does not repeat what it did.
        aim: returns, without acting, what a call would press.
    """
    traits = Traits(needs, effects, reads, seconds, once, aim)

    def note(function: Function) -> Function:
        setattr(function, _ATTRIBUTE, traits)
        return function

    return note


def traits_of(function: Callable[..., Any], needs: Needs = NO_NEEDS) -> Traits:
    """Returns the declared traits of a function, with the needs of its toolkit added."""
    stated: Traits = getattr(function, _ATTRIBUTE, NO_TRAITS)
    return replace(stated, needs=needs + stated.needs)
