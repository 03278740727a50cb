"""How a step's line says how much of a sequence of actions was made."""

from __future__ import annotations

__all__ = ["describe_sequence_progress"]


def describe_sequence_progress(executed: int, planned: int, reason: str = "") -> str:
    """A sentence on how many of a sequence's actions were made, and why not more."""
    if executed == planned:
        return f"All {planned} actions were made."
    if not executed:
        return f"None of the {planned} actions was made."
    rest = f"{planned}" if executed + 1 == planned else f"{executed + 1} to {planned}"
    return f"Only {executed} of {planned} actions were made; {rest} not, because {reason}."
