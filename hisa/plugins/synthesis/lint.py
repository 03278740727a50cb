"""The rules for people who write tasks, as a lint over an instruction and its check.

Source: ComputerRL's protocol for its annotators (appendix G): a task stands for itself, refers to
nothing by a pronoun, names its file and its values, can be carried out as it is written, is in
English, uses colours that nobody mixes up, and takes programs as installed. Ours besides: it ends
with something that stays, and is no walk.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import yaml

from hisa.plugins.synthesis.records import Change

__all__ = ["lint", "no_task"]

_RULES: dict[str, dict[str, str]] = yaml.safe_load(
    Path(__file__).with_name("lint_rules.yaml").read_text("utf-8")
)
_QUOTED = re.compile(r"\"[^\"]{1,300}\"|“[^”]{1,300}”|(?<!\w)'[^']{1,300}'(?!\w)|`[^`]{1,300}`")
_UNSAID = {"true", "false", "on", "off", "yes", "no", "none", "null", "uint32", "int32", "double"}


def no_task(instruction: str, names: Collection[str] = ()) -> list[str]:
    """Reasons why an instruction is no task at all, such as an end that passes by itself.

    ``names`` are those of things that it is about: their words are none of its own.
    """
    return _matches(instruction, "refused", names)


def _matches(instruction: str, kind: str, names: Collection[str]) -> list[str]:
    own = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    bare = _QUOTED.sub(lambda name: "n" * len(name[0]), instruction[:5000])  # of any words
    if own:
        bare = re.sub(rf"(?<!\w)({own})(?!\w)", lambda name: "n" * len(name[0]), bare)
    reasons = []
    for reason, rule in _RULES[kind].items():
        if match := re.search(rule, bare, re.I | re.S):
            reasons.append(f"{reason}: {instruction[slice(*match.span())][:60]!r}")
    return reasons


def lint(
    instruction: str,
    *,
    changes: Iterable[Change] = (),
    documents: Collection[str] = (),
    names: Collection[str] = (),
) -> list[str]:
    """Reasons why an instruction is no good one for a task; empty where none is found.

    Of ``changes``, what its check asks for, each value must be named, and each file that is one of
    ``documents``, which a person knows by name. ``names`` as for `no_task`.
    """
    reasons = no_task(instruction, names) + _matches(instruction, "marked", names)
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
