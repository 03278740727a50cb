"""The facts of a call before it is executed: its parts, each of which is decided by itself."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy.named_paths import NamedPath
from hisa.plugins.guard.policy.named_sites import NamedUrl

__all__ = ["CallFacts", "Part"]

_NO_EFFECTS: frozenset[Effect] = frozenset()


@dataclass(frozen=True, slots=True)
class Part:
    """One command of a line, or another act of a call."""

    text: str
    """The part as a person reads it."""
    command: str | None = None
    """The part as patterns see it: the program without its folder, and its arguments without
    quotes. None if it is no command."""
    spellings: tuple[str, ...] = ()
    """Others that a refusing pattern may match: as written, and with look-alikes normalised."""
    exact: bool = True
    """Whether ``command`` is complete: nothing in it is filled in later."""
    unread: str = ""
    """Why it could do more than is known; empty if it could not."""
    effects: frozenset[Effect] = _NO_EFFECTS
    urls: tuple[NamedUrl, ...] = ()
    paths: tuple[NamedPath, ...] = ()


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call in parts; ``apps`` are those that it acts on, in lower case, empty if not known."""

    tool: str
    parts: tuple[Part, ...]
    apps: tuple[str, ...] = ()
    acts: bool = True
    """Whether it does anything but look."""
    outside: bool = False
    """Whether it acts beyond the run's machine, so that a reset of the machine undoes nothing."""

    def words(self) -> tuple[str, ...]:
        """The facts as an event keeps them, at most `MOST_WORDS`."""
        words = [f"app {app}" for app in self.apps]
        for part in self.parts:
            words += [f"command {part.text}"] if part.command is not None else []
            words += [f"cannot be read: {part.unread}"] if part.unread else []
            words += [f"would {effect}" for effect in sorted(part.effects)]
            words += [f"address {url.text}" for url in part.urls]
            words += [
                f"{'changes' if path.writes else 'names'} {path.text}{'' if path.sure else '…'}"
                for path in part.paths
            ]
        return tuple(word[:_WORD] for word in dict.fromkeys(words))[:MOST_WORDS]


MOST_WORDS = 40
"""Facts of a call that are kept; chosen by hand, far above what a person writes in one line."""
_WORD = 300
"""Characters of a fact that are kept."""
