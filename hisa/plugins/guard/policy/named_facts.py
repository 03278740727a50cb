"""What is known of a call before it is made: its parts, each decided by itself."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy.named_paths import NamedPath
from hisa.plugins.guard.policy.named_sites import NamedUrl

__all__ = ["CallFacts", "Part"]

_NO_EFFECTS: frozenset[Effect] = frozenset()


@dataclass(frozen=True, slots=True)
class Part:
    """One command of a line, or what else a call does at once."""

    text: str
    """As people read it."""
    command: str | None = None
    """As patterns see it: the program without its folder, and its arguments without quotes. None:
    it is no command."""
    spellings: tuple[str, ...] = ()
    """Others that a refusing pattern may mean: as it was written, and look-alikes made plain."""
    exact: bool = True
    """Whether ``command`` is all of it: nothing in it is filled in later."""
    unread: str = ""
    """Why it could do more than is known; empty: it could not."""
    effects: frozenset[Effect] = _NO_EFFECTS
    urls: tuple[NamedUrl, ...] = ()
    paths: tuple[NamedPath, ...] = ()


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call, in parts. ``apps`` are those that it acts on, in small letters; empty: not known."""

    tool: str
    parts: tuple[Part, ...]
    apps: tuple[str, ...] = ()
    acts: bool = True
    """False: it only looks."""
    outside: bool = False
    """It acts beyond the run's machine, so that nothing is undone with that."""

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
"""Characters of one that are kept."""
