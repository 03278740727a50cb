"""Standard operating procedures: rules of a domain that people wrote and that bind the agent.

A Markdown file a domain: its name, or a ``domains:`` line, says which, a ``words:`` line how its
tasks speak (see `hisa.tasks.domains`), and each line that begins with ``- `` is one rule. Lines
before the first rule are for people; indented lines go on with the rule above. One that begins
with ``when:`` names what the rule speaks of: it enters the advice once a word of the task or of
the screen begins so. A rule without it enters always::

    # Spreadsheets
    domains: calc, excel
    words: spreadsheet, cell, xlsx

    - Save in the format the file already has.
      when: save, export

See HiSA, section 3.3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hisa.errors import ConfigError
from hisa.models.tokens import estimate_tokens
from hisa.patterns.pattern_text import DOMAIN, clean

__all__ = ["RULE_CHARS", "RulesSection", "Sop", "conditions", "load_sops", "render_rules"]
__all__ += ["rules_for"]

RULE_CHARS = 300
"""Longest rule, in characters."""
_RULES = 20  # chosen by hand
_GENERAL = "general"


@dataclass(frozen=True)
class Sop:
    """The rules of one file. ``general`` among the domains: they bind everywhere.

    ``own``: the user wrote it; it does not ship.
    """

    file: Path
    domains: tuple[str, ...]
    rules: tuple[str, ...]
    own: bool = False
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By rule: beginnings of words of which one must be in the task or on the screen."""
    words: tuple[str, ...] = ()
    """Words and phrases by which a task of the domain is known."""


def _bad(file: Path, line: int, message: str) -> ConfigError:
    return ConfigError(f"{file}:{line}: {message}", fix=f"edit {file}")


def _domains(file: Path, line: int, names: Iterable[str]) -> tuple[str, ...]:
    domains = tuple(name.strip() for name in names)
    for name in domains:
        if not DOMAIN.fullmatch(name):
            raise _bad(file, line, f"domain {name!r}: want lower-case letters, digits and _")
    return domains


def _rule(file: Path, line: int, text: str) -> str:
    rule = clean(text, RULE_CHARS * 2)
    if not 0 < len(rule) <= RULE_CHARS:
        raise _bad(file, line, f"a rule of {len(rule)} characters; want 1 to {RULE_CHARS}")
    return rule


def _conditions(file: Path, line: int, words: Iterable[str], key: str = "when") -> tuple[str, ...]:
    cleaned_words = tuple(clean(word).casefold() for word in words if word.strip())
    if not cleaned_words:
        raise _bad(file, line, f"{key}: names no word")
    return cleaned_words


def _from_markdown(file: Path, text: str) -> Sop:
    domains: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    rules: list[tuple[int, str]] = []
    when: dict[int, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("domains:"):
            domains = _domains(file, number, line.removeprefix("domains:").split(","))
        elif line.startswith("words:"):
            words = _conditions(file, number, line.removeprefix("words:").split(","), "words")
        elif line.startswith("- "):
            rules.append((number, line[2:]))
        elif rules and line.startswith("  ") and line.strip().startswith("when:"):
            needed_words = line.strip().removeprefix("when:").split(",")
            when[len(rules) - 1] = _conditions(file, number, needed_words)
        elif rules and line.startswith("  ") and line.strip():
            start, begun = rules[-1]
            rules[-1] = start, f"{begun} {line.strip()}"
        elif rules and line.strip():
            raise _bad(file, number, f"{line[:40]!r} is neither a rule ('- …') nor part of one")
    rule_texts = tuple(_rule(file, number, rule) for number, rule in rules)
    needed = {rule_texts[at]: words for at, words in when.items()}
    domains = domains or _domains(file, 1, [file.stem])
    return Sop(file, domains, rule_texts, when=needed, words=words)


def _load(file: Path) -> Sop:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(file, 1, f"not readable: {error}") from error
    sop = _from_markdown(file, text)
    if not 0 < len(sop.rules) <= _RULES:
        raise _bad(file, 1, f"{len(sop.rules)} rules; want 1 to {_RULES}")
    return sop


def load_sops(*folders: Path, own: bool = False) -> tuple[Sop, ...]:
    """Every ``*.md`` of the folders, by name within each.

    Raises:
        ConfigError: a folder is missing or a file is wrong, with file and line.
    """
    sops: list[Sop] = []
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(
                f"patterns.sops = {str(folder)!r}: no such folder", fix=f"mkdir -p {folder}"
            )
        files = sorted(folder.iterdir())
        for file in files:
            if file.suffix in {".yaml", ".yml"}:  # rules bind: none is left out silently
                raise _bad(file, 1, "rules are written in Markdown: NAME.md")
        markdown = (file for file in files if file.suffix == ".md" and file.stem != "README")
        sops += [replace(_load(file), own=own) for file in markdown]
    return tuple(sops)


def rules_for(sops: Iterable[Sop], domain: str) -> tuple[str, ...]:
    """The rules that bind in a domain, each once: the user's first, then those of the domain.

    Of the user's those that are marked MUST come before the others.
    """
    pairs = [(rule, sop) for sop in _binding(sops, domain) for rule in sop.rules]
    pairs.sort(key=lambda pair: not (pair[1].own and pair[0].startswith("MUST")))
    return tuple(dict.fromkeys(rule for rule, _ in pairs))


def conditions(sops: Iterable[Sop], domain: str) -> dict[str, tuple[str, ...]]:
    """Returns what rules of a domain wait for; none for those that the user marked MUST."""
    words_by_rule: dict[str, tuple[str, ...]] = {}
    for sop in _binding(sops, domain):
        for rule, words in sop.when.items():
            if not (sop.own and rule.startswith("MUST")):
                words_by_rule[rule] = words
    return words_by_rule


def _binding(sops: Iterable[Sop], domain: str) -> list[Sop]:
    binding = [sop for sop in sops if domain in sop.domains or _GENERAL in sop.domains]
    return sorted(binding, key=lambda sop: (not sop.own, domain not in sop.domains))


@dataclass(frozen=True)
class RulesSection:
    """The lines of rules, and the rules that did not fit."""

    text: str = ""
    left_out: tuple[str, ...] = ()


def render_rules(rules: Sequence[str], *, domain: str, limit: int) -> RulesSection:
    """Each rule whole, in its order, as long as there is room within ``limit`` tokens."""
    all_lines = [_line(rule) for rule in rules]
    if _tokens(all_lines) <= limit:
        return RulesSection("\n".join(all_lines))
    shown_lines: list[str] = []
    left: list[str] = []
    for rule in rules:
        note = _note(len(rules) - len(shown_lines), domain)
        if _tokens([*shown_lines, _line(rule), note]) <= limit:
            shown_lines.append(_line(rule))
        else:
            left.append(rule)
    return RulesSection("\n".join([*shown_lines, _note(len(left), domain)]), tuple(left))


def _line(rule: str) -> str:
    return f"- {rule}" if rule.startswith("MUST") else f"- MUST: {rule}"


def _note(count: int, domain: str) -> str:
    rules = "1 more rule does" if count == 1 else f"{count} more rules do"
    return f"- {rules} not fit here; to list them: hisa patterns rules {domain}"


def _tokens(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines))
