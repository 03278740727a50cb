"""How a step's line says how much of a sequence of actions was made."""

from __future__ import annotations

import re

__all__ = ["made_of", "tell_made"]

_TOLD = re.compile(
    r"(?:All (?P<all>\d{1,2}) actions were made|Only (?P<some>\d{1,2}) of \d{1,2} actions were made"
    r"|(?P<none>None) of the \d{1,2} actions was made)\b"
)


def tell_made(made: int, of: int, why: str = "") -> str:
    """A sentence on how many of a sequence's actions were made, and why not more."""
    if made == of:
        return f"All {of} actions were made."
    if not made:
        return f"None of the {of} actions was made."
    rest = f"{of}" if made + 1 == of else f"{made + 1} to {of}"
    return f"Only {made} of {of} actions were made; {rest} not, because {why}."


def made_of(result: str) -> int | None:
    """Returns how many actions a result says were made; None where it says nothing of it."""
    found = _TOLD.search(result)
    if found is None:
        return None
    return int(found["all"] or found["some"] or 0)
