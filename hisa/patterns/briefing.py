"""The advice to an agent before a run: the rules that bind, word for word, then the lessons.

Rules never pass through a model. Each is a line of its own, the user's first; one that does not
fit the limit is counted in a line that says how to list them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hisa.models.tokens import estimate_tokens

__all__ = ["RulesSection", "render_rules"]


@dataclass(frozen=True)
class RulesSection:
    """The lines of rules, and the rules that did not fit."""

    text: str = ""
    left_out: tuple[str, ...] = ()


def render_rules(rules: Sequence[str], *, domain: str, limit: int) -> RulesSection:
    """Each rule whole, in its order, as long as there is room within ``limit`` tokens."""
    told = [_line(rule) for rule in rules]
    if _tokens(told) <= limit:
        return RulesSection("\n".join(told))
    kept: list[str] = []
    left: list[str] = []
    for rule in rules:
        note = _note(len(rules) - len(kept), domain)
        if _tokens([*kept, _line(rule), note]) <= limit:
            kept.append(_line(rule))
        else:
            left.append(rule)
    return RulesSection("\n".join([*kept, _note(len(left), domain)]), tuple(left))


def _line(rule: str) -> str:
    return f"- {rule}" if rule.startswith("MUST") else f"- MUST: {rule}"


def _note(count: int, domain: str) -> str:
    rules = "1 more rule does" if count == 1 else f"{count} more rules do"
    return f"- {rules} not fit here; to list them: hisa patterns rules {domain}"


def _tokens(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines))
