"""Rules that tell an instruction that is no task, such as one that ends with what passes by itself.

They are in ``lint_rules.yaml``, after ComputerRL's protocol for its annotators (appendix G).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import yaml

__all__ = ["no_task"]

_RULES: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("lint_rules.yaml").read_text("utf-8")
)
_QUOTED = re.compile(r"\"[^\"]{1,300}\"|“[^”]{1,300}”|(?<!\w)'[^']{1,300}'(?!\w)|`[^`]{1,300}`")


def no_task(instruction: str, names: Collection[str] = ()) -> list[str]:
    """Reasons why an instruction is no task at all, such as an end that passes by itself.

    ``names`` are those of things that it is about: their words are none of its own.
    """
    own = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    bare = _QUOTED.sub(lambda name: "n" * len(name[0]), instruction[:5000])  # of any words
    if own:
        bare = re.sub(rf"(?<!\w)({own})(?!\w)", lambda name: "n" * len(name[0]), bare)
    reasons = []
    for reason, rule in _RULES.items():
        if match := re.search(rule, bare, re.I | re.S):
            reasons.append(f"{reason}: {instruction[slice(*match.span())][:60]!r}")
    return reasons
