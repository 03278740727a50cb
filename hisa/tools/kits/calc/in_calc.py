"""Passes calls of the toolkit on to its program inside the machine."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hisa.tools.base import ToolContext
from hisa.tools.kits.guest_call import call_guest

__all__ = ["SECONDS", "SLOW", "Count", "Place", "in_calc"]

SECONDS = 60.0
"""Limit of a call, which takes 0.1 to 0.5 s with a table of a thousand cells."""
SLOW = 180.0
"""Limit of a call that may be about a million cells, or writes a whole file."""
Place = Annotated[str, Field(min_length=1, max_length=1000)]
"""Cells, a column or a sheet by name."""
Count = Annotated[int, Field(ge=1, le=10_000)]
"""Lines; chosen by hand: more are a slip."""


async def in_calc(
    context: ToolContext, function: str, /, *, seconds: float = SECONDS, **arguments: Any
) -> str:
    """Returns what the program says of a call.

    Raises:
        ToolFailed: LibreOffice is not there, has no spreadsheet in front, or refuses.
        EnvironmentFailed: the machine does not answer.
    """
    answer = await call_guest(
        context.environment, "calc_program", function, seconds=seconds, **arguments
    )
    return str(answer)
