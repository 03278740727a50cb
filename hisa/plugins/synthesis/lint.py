"""The rules for people who write tasks, as a lint over an instruction and its check.

Source: ComputerRL's protocol for its annotators (appendix G): a task stands for itself, refers to
nothing by a pronoun, names its file and its values, can be carried out as it is written, is in
English, uses colours that nobody mixes up, and takes programs as installed. Ours besides: it ends
with something that stays, and is no walk.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from hisa.plugins.synthesis.records import Change

__all__ = ["lint"]

_RULES = {
    "refers to something without naming it":
        r"\b(it|its|this|that|these|those|they|them|here|there|such|the (above|former|latter))\b",
    "has more than one reading":
        r"\b(some|several|a few|any|good|nice|better|proper(ly)?|appropriate(ly)?|suitable|etc\.?"
        r"|and so on|as (needed|desired|you like|appropriate)|certain|a bit|slightly)\b",
    "leaves a choice":
        r"\b(and/or|either|or|optionally|if (needed|necessary|possible|you (like|want)))\b",
    "is about a time that passes":
        r"\b(today|tonight|tomorrow|yesterday|now|currently|(this|next|last) (week|month|year"
        r"|(mon|tues|wednes|thurs|fri|satur|sun)day)|latest|most recent|up[- ]to[- ]date)\b",
    "gives the check away":
        r"~?/?\.(config|local|cache)\b|\b(g|d)conf\b|\bgsettings\b|registrymodifications|\.xcu\b"
        r"|\b(org|com)\.[a-z]+\.[\w.]+|\b(the check|checker|evaluator|scor(e|ing)|exit code)s?\b",
    "has no end that can be verified":
        r"^(look|explore|browse|think|consider|try|see|inspect|familiari[sz]e|observe|hover)\b",
    "ends with something that passes by itself":
        r"(?:^|\b(?:then|and) |^in [^,]+, )(?:(?:pull down|unfold|open|show)\b[^,]*\bmenu\b"
        r"|open the list\b|choose the tab\b|click (?:into|cancel|close)\b|hover\b|close\b)"
        r"(?:(?!\b(?:then|and)\b).)*$",
    "is a walk of many steps":
        r"(\bthen\b.*){6}",
    "says which control to use in place of what to reach":
        r"\b(click|double-click|right-click|press the|hotkey|menu item|radio button|push button)\b",
    "needs more than the start holds":
        r"\b(install|download|sign (in|up)|log in)\b",
    "names a colour that is mixed up with another":
        r"\b(crimson|scarlet|maroon|navy|teal|turquoise|cyan|lime|olive|indigo|beige|magenta)\b",
    "has a gap to be filled": r"\{\w*\}|<\w+>|\bTODO\b|\bX{2,}\b|\.\.\.|…",
    "has fewer than 3 words": r"^\W*(\w\S*\W*){0,2}$",
    "has more than 80 words": r"^(\S+\s+){80}\S",
    "is not in English": r"[^\W\d_A-Za-zÀ-ɏ]{2}",
}  # fmt: skip
_PATTERNS = {reason: re.compile(rule, re.I | re.S) for reason, rule in _RULES.items()}
_QUOTED = re.compile(r"\"[^\"]{1,300}\"|“[^”]{1,300}”|(?<!\w)'[^']{1,300}'(?!\w)|`[^`]{1,300}`")
_UNSAID = {"true", "false", "on", "off", "yes", "no", "none", "null", "uint32", "int32", "double"}


def lint(
    instruction: str, *, changes: Iterable[Change] = (), documents: Collection[str] = ()
) -> list[str]:
    """Reasons why an instruction is no good one for a task; empty where none is found.

    Args:
        instruction: the task.
        changes: what its check asks for: each value must be named, and each document.
        documents: files that a person knows by name, as paths; other files need no name.
    """
    bare = _QUOTED.sub(" x ", instruction[:5000])  # a name may hold any word
    reasons = [
        f"{reason}: {match[0][:60]!r}"
        for reason, rule in _PATTERNS.items()
        if (match := rule.search(bare))
    ]
    named = _words(instruction)
    for change in changes:
        name = change.fact.place.rpartition("/")[2]
        new = _words(change.after or "") - _words(change.before or "") - named - _UNSAID
        if change.fact.kind != "file":
            reasons += [f"does not name the value {value!r}" for value in sorted(new)[:40]]
        if change.fact.place in documents and len(documents) > 1 and name not in instruction:
            reasons.append(f"does not name the file {name!r}")
    return list(dict.fromkeys(reasons))


def _words(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+(?:\.\d+)?", text.casefold())
    return {word for word in words if len(word) > 1 or word.isdigit()}
