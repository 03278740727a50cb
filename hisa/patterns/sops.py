"""Standard operating procedures: rules of a domain that people wrote and that bind the agent.

There is one Markdown file for each domain:

- The file's name is the domain, unless a ``domains:`` line names others.
- A ``words:`` line has the words by which a task of the domain is known; see `hisa.tasks.domains`.
- Each line that begins with ``- `` is a rule; indented lines continue the rule above.
- An indented line that begins with ``when:`` is a condition: the rule is added to the advice as
  soon as a word of the task or on the screen begins with one of these words. A rule without it is
  always in the advice.
- Lines before the first rule are for people.

::

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
"""Most characters of a rule."""
_RULES = 20  # chosen by hand
_GENERAL = "general"


@dataclass(frozen=True)
class Sop:
    """The rules of one file. With ``general`` among its domains they bind in every domain.

    ``own`` is True if the user wrote the file, and False if it ships with HiSA.
    """

    file: Path
    domains: tuple[str, ...]
    rules: tuple[str, ...]
    own: bool = False
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By rule: beginnings of words; one must occur in the task or on the screen."""
    words: tuple[str, ...] = ()
    """Words and phrases by which a task of the domain is recognised."""


def _bad(file: Path, line: int, message: str) -> ConfigError:
    return ConfigError(f"{file}:{line}: {message}", fix=f"edit {file}")


def _domains(file: Path, line: int, names: Iterable[str]) -> tuple[str, ...]:
    domains = tuple(name.strip() for name in names)
    for name in domains:
        if not DOMAIN.fullmatch(name):
            raise _bad(file, line, f"domain {name!r}: allowed are lower-case letters, digits and _")
    return domains


def _rule(file: Path, line: int, text: str) -> str:
    rule = clean(text, RULE_CHARS * 2)
    if not 0 < len(rule) <= RULE_CHARS:
        raise _bad(
            file, line, f"the rule has {len(rule)} characters; allowed are 1 to {RULE_CHARS}"
        )
    return rule


def _conditions(file: Path, line: int, words: Iterable[str], key: str = "when") -> tuple[str, ...]:
    cleaned_words = tuple(clean(word).casefold() for word in words if word.strip())
    if not cleaned_words:
        raise _bad(file, line, f"'{key}:' has no word")
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
        raise _bad(file, 1, f"cannot be read: {error}") from error
    sop = _from_markdown(file, text)
    if not 0 < len(sop.rules) <= _RULES:
        raise _bad(file, 1, f"the file has {len(sop.rules)} rules; allowed are 1 to {_RULES}")
    return sop


def load_sops(*folders: Path, own: bool = False) -> tuple[Sop, ...]:
    """Load every ``*.md`` file of some folders, in the order of their names.

    Raises:
        ConfigError: a folder is missing, or a file is wrong; the text names file and line.
    """
    sops: list[Sop] = []
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(
                f"patterns.sops = {str(folder)!r}: no such folder", fix=f"mkdir -p {folder}"
            )
        files = sorted(folder.iterdir())
        for file in files:
            if file.suffix in {".yaml", ".yml"}:  # rules bind: none may be ignored silently
                raise _bad(file, 1, "rules are written in Markdown: NAME.md")
        markdown = (file for file in files if file.suffix == ".md" and file.stem != "README")
        sops += [replace(_load(file), own=own) for file in markdown]
    return tuple(sops)


def rules_for(sops: Iterable[Sop], domain: str) -> tuple[str, ...]:
    """Returns the rules that bind in a domain, each once.

    The user's rules marked MUST come first, then the user's other rules, then those that ship;
    among these, rules of the domain come before general ones.
    """
    pairs = [(rule, sop) for sop in _binding(sops, domain) for rule in sop.rules]
    pairs.sort(key=lambda pair: not (pair[1].own and pair[0].startswith("MUST")))
    return tuple(dict.fromkeys(rule for rule, _ in pairs))


def conditions(sops: Iterable[Sop], domain: str) -> dict[str, tuple[str, ...]]:
    """Returns the ``when:`` words of the rules of a domain; the user's MUST rules never wait."""
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
    """Rules as lines of advice, and the rules that did not fit."""

    text: str = ""
    left_out: tuple[str, ...] = ()


def render_rules(rules: Sequence[str], *, domain: str, limit: int) -> RulesSection:
    """Returns the rules as lines: each whole, in order, as long as there is room.

    Args:
        rules: the rules that bind.
        domain: the domain, for the command that lists what did not fit.
        limit: most tokens of the lines.
    """
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
