"""Guesses the domain of a task from the words that the SOP files give for their tasks."""

from __future__ import annotations

import re
from functools import lru_cache

from hisa.patterns.sops import load_sops
from hisa.text.prompts import data_folder

__all__ = ["guess_domain"]


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    """Returns for each domain the pattern of its names and of its SOP file's words."""
    patterns = {}
    for sop in load_sops(data_folder("patterns_db")):
        if sop.words:
            names = [name.replace("_", " ") for name in sop.domains]
            words = sorted({*names, *sop.words}, key=len, reverse=True)
            any_word = "|".join(map(re.escape, words))
            patterns[sop.domains[0]] = re.compile(rf"(?<!\w)(?:{any_word})s?(?!\w)")
    return patterns


def guess_domain(instruction: str) -> str:
    """Returns the domain whose words occur most often, of equals the one that occurs first.

    "general" if no word occurs.
    """
    text = instruction.lower()
    matches = {name: [*words.finditer(text)] for name, words in _patterns().items()}
    named = {name: hits for name, hits in matches.items() if hits}
    return max(
        named, key=lambda name: (len(named[name]), -named[name][0].start()), default="general"
    )
