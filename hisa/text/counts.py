"""Puts counts into words, singular or plural."""

from __future__ import annotations

__all__ = ["all_of", "pluralise"]


def pluralise(count: int, noun: str) -> str:
    """Returns "1 step" or "3 steps"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def all_of(count: int, noun: str, verb: str, verbs: str) -> str:
    """Returns "the check holds" or "all 3 checks hold".

    Args:
        count: the number of things.
        noun: the name of one thing: "check".
        verb: the verb for one thing: "holds".
        verbs: the verb for several things: "hold".
    """
    return f"the {noun} {verb}" if count == 1 else f"all {count} {noun}s {verbs}"
