"""The pages that have a script, with targets in the words that a capable multimodal model writes.

The descriptions were written from pictures of the pages before any script had been run, and stay
as they are: what the grounder makes of them is what is measured. Only a wrong reading of what a
page wants is mended. The pages of the grounding suite have no script here; nor have lists whose
items are dragged, since what is let go on the middle of another counts as before or after it by
chance, and numbers that are hidden once the first was clicked.
"""

from __future__ import annotations

import hashlib

from benchmarks.miniwob_words import areas, buttons, choices, fields, panes, pictures
from benchmarks.miniwob_words.script import PAGES

__all__ = ["PAGES", "half"]

_ALL = (areas, buttons, choices, fields, panes, pictures)
"""Imported for what they register."""


def half(name: str) -> str:
    """Returns A for a page whose failures may be looked at, B for one that is only reported."""
    return "AB"[hashlib.sha256(name.encode()).digest()[0] % 2]
