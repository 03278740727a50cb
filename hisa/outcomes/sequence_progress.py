"""The sentence in a step's line on how much of a sequence was done."""

from __future__ import annotations

__all__ = ["describe_sequence_progress"]


def describe_sequence_progress(executed: int, planned: int, reason: str = "") -> str:
    """Returns a sentence on how many actions of a sequence were done, and why not more.

    Args:
        executed: the number of actions that were done.
        planned: the number of actions of the sequence.
        reason: why the sequence stopped; used if some, but not all, were done.
    """
    if executed == planned:
        return f"All {planned} actions were made."
    if not executed:
        return f"None of the {planned} actions was made."
    rest = f"{planned}" if executed + 1 == planned else f"{executed + 1} to {planned}"
    return f"Only {executed} of {planned} actions were made; {rest} not, because {reason}."
