"""What a list of steps holds besides steps: remarks, announcements, and steps that need no act."""

from __future__ import annotations

import re

__all__ = ["announces_steps", "is_idle", "is_remark", "without_asides"]

_REMARK = re.compile(
    r"(?:(?:now|then|so|here|finally|next)\b,?\s+"
    r"|in the (?:former|previous|above|last) steps?,?\s+)*"
    r"(?:(?:we|they|it|this|that|there|these|those)\b|you (?:can|could|may|might|will)\b"
    r"|you should (?:now )?see\b"
    r"|(?:the|a|an|all|both|each)\b.*\b(?:is|are|will|should|has|have|can|appears?)\b"
    r"|(?:start|begin) \w+ing\b)",
    re.I | re.S,
)
_ANNOUNCEMENT = re.compile(
    r"\b(?:here|below)\s+(?:is|are)\b[^.]*\b(?:tutorial|guide|steps|instructions|plan)\b",
    re.I,
)
_IDLE = re.compile(
    r"(?:press down|hold(?: down)?|release)\s+"
    r"(?:it|(?:the\s+)?(?:left\s+)?mouse(?:\s+button)?)\b.*",
    re.I | re.S,
)
_ASIDE = re.compile(r"\s*\((?=[^()]*[a-z]{2}[^()]*\s)[^()]*\)", re.I)


def is_remark(sentence: str) -> bool:
    """Whether a sentence tells something ("You will see …") instead of asking for an act."""
    return _REMARK.match(sentence) is not None


def announces_steps(line: str) -> bool:
    """Whether a line says that the steps to the goal before it follow: "Here is a tutorial …:"."""
    return _ANNOUNCEMENT.search(line) is not None


def is_idle(clause: str) -> bool:
    """Whether a clause is a part of a drag that the drag does by itself: "hold it"."""
    return _IDLE.fullmatch(clause) is not None


def without_asides(clause: str) -> str:
    """A clause without what stands in round brackets, if that is more than a word."""
    return _ASIDE.sub("", clause)
