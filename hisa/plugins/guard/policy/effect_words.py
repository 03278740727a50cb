"""Reads effects from the words of a button, a dialog's title or a planner's description."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy.program_table import expressions, read_lists

__all__ = ["ADDRESS_BAR", "is_app", "is_confirming", "is_dismissing", "read_effects"]
__all__ += ["title_effects"]

_DISMISSING = re.compile(
    r"(cancel|no|nope|close|dismiss|back|go back|keep( it| file| editing)?|not now|no,? thanks?"
    r"|later|skip|deny|block|reject.*|decline|save|abort|stay( here)?|never|don.?t (allow|delete"
    r"|send|install|share)|x|×)\W*",
    re.IGNORECASE,
)
_CONFIRMING = re.compile(
    r"(ok|okay|yes.*|confirm|continue|proceed|apply|accept|i agree|agree|sure|done|next|go ahead"
    r"|all|yes to all|finish)\W*",
    re.IGNORECASE,
)
_LABEL = 60
"""Most characters of a button's label; longer texts only say what something is about."""
_TITLE = 70
"""Most characters of a dialog's title."""
_OF_PROGRAM = re.compile(r" [-–—] |\.\w{2,4}\b")
"""Found in titles of documents and pages, which say nothing about what a key does."""

ADDRESS_BAR = re.compile(
    r"address and search bar|search (with .+ )?or enter address|^(address bar|location)$", re.I
)
"""The names of the address bars of browsers."""


def is_app(kind: str, apps: Iterable[str]) -> bool:
    """Whether one of the applications is of a kind, such as "terminals"."""
    return any(word in app for app in apps for word in read_lists("apps")[kind])


@cache
def _effect_patterns() -> Mapping[Effect, re.Pattern[str]]:
    return {
        effect: re.compile(rf"\b({words})\b", re.IGNORECASE)
        for effect, words in expressions("labels").items()
    }


def read_effects(text: str, *, label: bool = False, first: bool = False) -> frozenset[Effect]:
    """Returns the effects that a text names.

    Args:
        text: a button's words, or a planner's description of it.
        label: whether the text is from the screen; a long one is then not a button's.
        first: whether only its first words count, as for a row that may be an entry of a menu.
    """
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    if label and len(plain) > _LABEL:
        return frozenset()
    plain = plain.lstrip("•·-–* ")
    return frozenset(
        effect
        for effect, words in _effect_patterns().items()
        if (words.match(plain) if first else words.search(plain))
    )


def title_effects(title: str) -> frozenset[Effect]:
    """Returns the effects that a dialog's title names; empty for a document's or page's title."""
    if len(title) > _TITLE or (_OF_PROGRAM.search(title) and not title.rstrip().endswith("?")):
        return frozenset()
    return read_effects(title)


def is_dismissing(label: str) -> bool:
    """Whether a button's words cancel an act."""
    return _DISMISSING.fullmatch(label.strip()) is not None


def is_confirming(label: str) -> bool:
    """Whether a button's words say yes to what the dialog asks."""
    return _CONFIRMING.fullmatch(label.strip()) is not None
