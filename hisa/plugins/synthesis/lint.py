"""The rules for people who write tasks, as a lint over an instruction and its check.

Source: ComputerRL's protocol for its annotators (appendix G): a task stands for itself, refers to
nothing by a pronoun, names its file and its values, can be carried out as it is written, is in
English, uses colours that nobody mixes up, and takes programs as installed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from hisa.plugins.synthesis.records import Change

__all__ = ["lint"]

SHORTEST, LONGEST = 3, 80
"""Words of an instruction; chosen by hand."""
_RULES: tuple[tuple[str, str], ...] = (
    (
        r"\b(it|its|this|that|these|those|they|them|here|there|such|the (above|former|latter))\b",
        "refers to something without naming it: {!r}",
    ),
    (
        r"\b(some|several|a few|any|good|nice|better|proper(ly)?|appropriate(ly)?|suitable|etc\.?"
        r"|and so on|as (needed|desired|you like|appropriate)|certain|a bit|slightly)\b",
        "has more than one reading: {!r}",
    ),
    (
        r"\b(and/or|either|or|optionally|if (needed|necessary|possible|you (like|want)))\b",
        "leaves a choice: {!r}",
    ),
    (
        r"\b(today|tonight|tomorrow|yesterday|now|currently|(this|next|last) (week|month|year"
        r"|(mon|tues|wednes|thurs|fri|satur|sun)day)|latest|most recent|up[- ]to[- ]date)\b",
        "is about a time that passes: {!r}",
    ),
    (
        r"~?/?\.(config|local|cache)\b|\b(g|d)conf\b|\bgsettings\b|registrymodifications|\.xcu\b"
        r"|\b(org|com)\.[a-z]+\.[\w.]+|\b(the check|checker|evaluator|scor(e|ing)|exit code)s?\b",
        "gives the check away: {!r}",
    ),
    (
        r"^(look|explore|browse|think|consider|try|see|inspect|familiari[sz]e|observe|hover)\b",
        "has no end that can be verified: {!r}",
    ),
    (
        r"\b(click|double-click|right-click|press the|hotkey|menu item|radio button|push button)\b",
        "says which control to use in place of what to reach: {!r}",
    ),
    (r"\b(install|download|sign (in|up)|log in)\b", "needs more than the start holds: {!r}"),
    (
        r"\b(crimson|scarlet|maroon|navy|teal|turquoise|cyan|lime|olive|indigo|beige|magenta)\b",
        "names a colour that is mixed up with another: {!r}",
    ),
    (r"\{\w*\}|<\w+>|\bTODO\b|\bX{2,}\b|\.\.\.|…", "has a gap to be filled: {!r}"),
)
_PATTERNS = tuple((re.compile(words, re.IGNORECASE), reason) for words, reason in _RULES)
_QUOTED = re.compile(r"\"([^\"]{1,300})\"|“([^”]{1,300})”|(?<!\w)'([^']{1,300})'(?!\w)|`([^`]+)`")
_UNSAID = frozenset(
    ("true", "false", "on", "off", "yes", "no", "none", "null", "uint32", "int32", "double")
)
_MOST_VALUES = 40


def lint(
    instruction: str,
    *,
    changes: Iterable[Change] = (),
    documents: Collection[str] = (),
    known: Collection[str] | None = None,
) -> list[str]:
    """Reasons why an instruction is no good one for a task; empty where none is found.

    Args:
        instruction: the task.
        changes: what its check asks for: each value must be named, and each document.
        documents: files that a person knows by name, as paths; other files need no name.
        known: texts and names that the start or its menus show; None: not known.
    """
    changes = list(changes)
    bare = _QUOTED.sub(" ", instruction)  # a name may hold any word
    reasons = [
        reason.format(match[0]) for words, reason in _PATTERNS if (match := words.search(bare))
    ]
    count = len(instruction.split())
    if not SHORTEST <= count <= LONGEST:
        reasons.append(f"has {count} words; {SHORTEST} to {LONGEST} are right")
    letters = [letter for letter in bare if letter.isalpha()]
    if sum(letter.isascii() for letter in letters) < 0.9 * len(letters):
        reasons.append("is not in English")
    reasons += [f"does not name the value {value!r}" for value in _unnamed(instruction, changes)]
    for place in dict.fromkeys(change.fact.place for change in changes):
        name = place.rpartition("/")[2]
        if place in documents and len(documents) > 1 and name.casefold() not in bare.casefold():
            reasons.append(f"does not name the file {name!r}")
    if known is not None:
        shown = "\n".join([*known, *(change.after or "" for change in changes)]).casefold()
        quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(instruction))
        reasons += [
            f"names {text!r}, which the start does not show"
            for text in quoted
            if text.strip(" .:…").casefold() not in shown
        ]
    return list(dict.fromkeys(reasons))


def _unnamed(instruction: str, changes: Iterable[Change]) -> list[str]:
    """Words and numbers that are in a new value, were not in the old one, and are never named."""
    named = _words(instruction)
    values: dict[str, None] = {}
    for change in changes:
        if change.after is not None and change.fact.kind != "file":
            old = _words(change.before or "") | _UNSAID
            values |= dict.fromkeys(sorted(_words(change.after) - old))
    return [value for value in values if value not in named][:_MOST_VALUES]


def _words(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+(?:\.\d+)?", text.casefold())
    return {word for word in words if len(word) > 1 or word.isdigit()}
