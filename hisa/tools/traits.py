"""What a tool needs and what it may do, stated beside its function."""

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
    """Of the environment; see `hisa.protocols.Environment`."""
    apps: tuple[str, ...] = ()
    """Applications, by the class of their windows, as ``hisa run`` shows it: patterns such as
    "libreoffice-calc" or "chrom*", in small letters. The tool is offered while one of them is in
    front, and can be used while one of them has a window."""
    windows: int = 0
    """It is offered while there are so many."""
    dialogs: tuple[str, ...] = ()
    """Classes of windows that its dialogs have where these are not those of `apps`: it is offered
    too while one of them is in front, and what lies below is the application."""

    def __add__(self, other: Needs) -> Needs:
        """Both; applications are those of ``other`` where it names some."""
        return Needs(
            self.capabilities | other.capabilities,
            other.apps or self.apps,
            max(self.windows, other.windows),
            other.dialogs or self.dialogs,
        )

    def describe_missing(self, capabilities: Iterable[str]) -> str:
        """Returns what is not there, whatever is on the screen; empty where nothing is missing."""
        without = sorted(self.capabilities - set(capabilities))
        return f"the machine lacks {', '.join(without)}" if without else ""

    def in_front(self, observation: Observation) -> bool:
        """Whether the application that it is for has the focus; True where it is for none."""
        if len(observation.windows) < self.windows or not self.apps:
            return len(observation.windows) >= self.windows
        focused = False
        for window in reversed(observation.windows):  # the one on top is the last
            focused = focused or window.active
            if focused and not _is_among(window.app, self.dialogs):
                return _is_among(window.app, self.apps)
        return False

    def is_open(self, observation: Observation) -> bool:
        """Whether the application has a window; True where nobody can tell."""
        open_ = any(_is_among(window.app, self.apps) for window in observation.windows)
        return not self.apps or not observation.windows_known or open_


def _is_among(app: str, patterns: tuple[str, ...]) -> bool:
    name = app.lower()
    return any(fnmatchcase(name, pattern) for pattern in patterns)


NO_NEEDS = Needs()


@dataclass(frozen=True, slots=True)
class Aim:
    """What a call would press: the words on it, and those that a plain yes says yes to."""

    names: tuple[str, ...]
    around: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Traits:
    """What is stated of a tool beside its signature."""

    needs: Needs = NO_NEEDS
    effects: tuple[Effect, ...] = ()
    """What a call always does, or does with some input: the policy asks about each."""
    reads: bool = False
    """It only looks: nothing on the machine is other than before."""
    seconds: float = 120.0
    """Time limit of a call."""
    once: bool = False
    """What it did cannot be done again by calling it again, so that no run is replayed over it."""
    aim: Callable[..., Awaitable[Aim | None]] | None = None
    """Takes what the tool takes and tells, without acting, what a call would press; None: nothing.
    The policy asks it before a call."""


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
    """State what a tool needs and does. The function stays as it is.

    Args:
        needs: what must hold before it is offered.
        effects: what it may do that a person may want to be asked about.
        reads: it only looks.
        seconds: time limit of a call.
        once: what it did cannot be done again by calling it again.
        aim: tells, without acting, what a call would press.
    """
    traits = Traits(needs, effects, reads, seconds, once, aim)

    def note(function: Function) -> Function:
        setattr(function, _ATTRIBUTE, traits)
        return function

    return note


def traits_of(function: Callable[..., Any], needs: Needs = NO_NEEDS) -> Traits:
    """Returns the traits stated of a function, with the needs of its toolkit added."""
    stated: Traits = getattr(function, _ATTRIBUTE, NO_TRAITS)
    return replace(stated, needs=needs + stated.needs)
