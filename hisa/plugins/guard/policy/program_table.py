"""Looks up a command in ``programs.toml``, which holds what is known of programs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, get_args

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy.shell_lines import Word

__all__ = ["Program", "expressions", "find_program", "is_known_program", "leading_options"]
__all__ += ["read_lists"]

_VERSIONED = re.compile(r"(pip|gpg|mkfs)[\d.]\S*")
"""Programs that are also installed with a version, or their purpose, after their name."""
_QUOTED = re.compile(r'"[^"]*"')
_LATE = re.compile(r"[$`]")
_EFFECTS: tuple[Effect, ...] = get_args(Effect)


@dataclass(frozen=True, slots=True)
class Program:
    """What is known of a command by its program, or by that and its first argument.

    ``name`` then includes that argument. ``kind`` is one of the lists of ``programs.toml``. If it
    is empty and there are no effects, the program is not known and could do anything.
    """

    name: str
    kind: str = ""
    effects: frozenset[Effect] = frozenset()
    arguments: Mapping[str, re.Pattern[str]] = field(default_factory=dict)

    def matching_words(self, key: str, words: Sequence[Word]) -> Iterator[Word]:
        """Yields the words that match one of the program's expressions, each by itself."""
        pattern = self.arguments.get(key)
        for word in words if pattern is not None else ():
            if pattern is not None and pattern.fullmatch(word.text):
                yield word

    def effects_of(self, words: Sequence[Word]) -> frozenset[Effect]:
        """Returns the program's effects with some arguments, also by options with their values."""
        pairs = pairwise(words)
        joined = [Word(f"{a.text} {b.text}") for a, b in pairs if a.text.startswith("-")]
        texts = [*words, *joined]
        by_word = {effect for effect in _EFFECTS if any(self.matching_words(effect, texts))}
        return self.effects | by_word

    def unread(self, words: Sequence[Word]) -> str:
        """Returns why the program could do more with some arguments than is known."""
        if any(self.matching_words("unread", words)):
            return f"an argument of {self.name} is not read"
        options = self.arguments.get("options")
        if options is not None:
            dashed = (word.text for word in words if word.text.startswith(("-", "+")))
            other = next((text for text in dashed if not options.fullmatch(text)), "")
            if other:
                return f"the option {other} of {self.name} is not known"
        if any(map(_may_hold_options, words)) and any(
            key in self.arguments for key in ("options", *_EFFECTS)
        ):
            return f"an argument of {self.name} is filled in later"
        return ""


def _may_hold_options(word: Word) -> bool:
    """Whether a word may become an option, or several words, as an expansion without quotes."""
    bare = _QUOTED.sub("x", word.text)
    return not word.known and (word.text.startswith(("-", '"$', '"`')) or bool(_LATE.search(bare)))


@cache
def _lists() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("programs.toml").read_text("utf-8"))


@cache
def read_lists(section: str) -> Mapping[str, frozenset[str]]:
    """Returns the names of each list of a section of ``programs.toml``."""
    return {key: frozenset(names.split()) for key, names in _lists()[section].items()}


def expressions(section: str) -> Mapping[Any, str]:
    """Returns the expressions of a section of ``programs.toml``, without their line breaks."""
    return {key: text.replace("\n", "") for key, text in _lists()[section].items()}


@cache
def _arguments() -> Mapping[str, Mapping[str, re.Pattern[str]]]:
    patterns_by_name: dict[str, Mapping[str, re.Pattern[str]]] = {}
    for entry in _lists()["arguments"]:
        patterns = {
            key: re.compile(text.replace("\n", "")) for key, text in entry.items() if key != "of"
        }
        names = (read_lists("kinds").get(name[1:], {name}) for name in entry["of"].split())
        patterns_by_name |= dict.fromkeys(chain.from_iterable(names), patterns)
    return patterns_by_name


def is_known_program(name: str) -> bool:
    """Whether anything is known of a program of that name."""
    program = find_program(name, ())
    return bool(program.effects or program.kind)


def leading_options(name: str, words: Sequence[Word]) -> Sequence[Word]:
    """Returns the options before a program's subcommand, as ``-C x`` of ``git -C x status``."""
    pattern, count = _arguments().get(name, {}).get("leading"), 0
    while pattern is not None and count < len(words):
        known = all(word.known and not word.glob for word in words[count : count + 2])
        if pattern.fullmatch(words[count].text):
            count += 1
        elif known and pattern.fullmatch(" ".join(w.text for w in words[count : count + 2])):
            count += 2
        else:
            break
    return words[:count]


def find_program(name: str, words: Sequence[Word]) -> Program:
    """Returns what is known of a command.

    Args:
        name: its program, without a folder.
        words: its arguments.
    """
    match = _VERSIONED.fullmatch(name)
    plain = match[1] if match else name
    first = words[0].text if words else ""
    longer = f"{plain}:{first}"
    names = [longer, plain] if not words or (first and words[0].known) else [plain]
    kinds = (
        (kind, key) for key in names for kind, known in read_lists("kinds").items() if key in known
    )
    kind, key = next(kinds, ("", ""))
    effects = frozenset(
        effect
        for effect in _EFFECTS
        for candidate in names
        if candidate in read_lists("effects").get(effect, ())
        and (key != longer or candidate == longer)
    )
    arguments = _arguments().get(key or longer) or ({} if key else _arguments().get(plain, {}))
    if [word.text for word in words] in (["--version"], ["--help"]) and kind != "runs":
        return Program(plain, "quiet") if kind or effects else Program(plain)
    return Program(key.replace(":", " ").strip() or plain, kind, effects, arguments)
