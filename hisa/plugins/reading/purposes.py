"""What things are called that do something, or that show a picture: one wording, many names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from hisa.text.words import tokens

__all__ = ["Purpose", "acting_families", "find_purposes", "serves"]

_VERBS: tuple[tuple[str, str], ...] = (
    (r"(?:turn|switch)(?:es|s)? (?:\S+ ){0,4}(?:on|off)|enables?|disables?|allows?", "tick button"),
    (r"types?|typed|enters?|entered|writes?|written|fills?", "field"),
    (r"chooses?|chosen|choosing|picks?|picking|sets?|changes?|changing",
     "choice tick item tab button slider field cell"),
    (r"raises?|raising|lowers?|lowering|increases?|decreases?|adds? one", "part button"),
    (r"selects?|ticks?|marks?", "tick button item cell choice"),
    (r"opens?|shows?|closes?|hides?|goe?s?|jumps?|starts?|stops?|saves?|sends?|deletes?|removes?|"
     r"adds?|edits?|copies|copy|pastes?|undo|undoes|redo|sorts?|turns?|makes?|puts?|takes?|moves?|"
     r"collapses?|expands?|folds?|loads?|zooms?|searches|search|finds?|counts?|draws?|inserts?|"
     r"prints?|clears?|resets?|replaces?|fits?|splits?|reloads?|leaves?|plays?|records?|downloads?|"
     r"uploads?|shares?|minimi[sz]es?|maximi[sz]es?|switch|switches|assigns?|exports?|imports?",
     "button link item menu part picture tab tick header choice"),
)  # fmt: skip
"""What is said to be done > the groups of roles that do it, see `scene_table.FAMILIES`."""
_ACTING = tuple(
    (
        re.compile(rf"^(?:{verb})\b|\b(?:that|which|to|for|and|where one) (?:{verb})\b"),
        frozenset(families.split()),
    )
    for verb, families in _VERBS
)


@dataclass(frozen=True)
class Purpose:
    """What may be said, and the words of each name for it."""

    pattern: re.Pattern[str]
    names: tuple[frozenset[str], ...]


def _read_purpose(line: str) -> Purpose:
    pattern, _, names = line.rpartition(" > ")
    word_sets = tuple(dict.fromkeys(tokens(name) for name in names.split(", ")))
    return Purpose(re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"), word_sets)


@cache
def _purposes() -> tuple[Purpose, ...]:
    text = (files("hisa.plugins.reading") / "purposes.txt").read_text("utf-8")
    return tuple(_read_purpose(line) for line in text.splitlines() if line and line[0] != "#")


def find_purposes(text: str) -> tuple[frozenset[str], ...]:
    """The names, as words, of what does or shows what is said in a text in lower case."""
    all_names = (name for p in _purposes() if p.pattern.search(text) for name in p.names)
    return tuple(dict.fromkeys(all_names))


def acting_families(text: str) -> frozenset[str]:
    """The groups of roles of what does what is said in a text in lower case; empty: nothing is."""
    return next((families for pattern, families in _ACTING if pattern.search(text)), frozenset())


def serves(names: tuple[frozenset[str], ...], called: frozenset[str]) -> float:
    """0..1: 1 where a thing has just the words of one of the names, less for further words."""
    if not called:
        return 0.0
    return max((_share(name, called) for name in names), default=0.0)


def _share(name: frozenset[str], called: frozenset[str]) -> float:
    return 0.4 + 0.6 * len(name) / len(called) if name and name <= called else 0.0
