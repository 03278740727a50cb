"""How a step's line says how much of a sequence of actions was made."""

from __future__ import annotations

__all__ = ["tell_made"]


def tell_made(made: int, of: int, why: str = "") -> str:
    """A sentence on how many of a sequence's actions were made, and why not more."""
    if made == of:
        return f"All {of} actions were made."
    if not made:
        return f"None of the {of} actions was made."
    rest = f"{of}" if made + 1 == of else f"{made + 1} to {of}"
    return f"Only {made} of {of} actions were made; {rest} not, because {why}."
