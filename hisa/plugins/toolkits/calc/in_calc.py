"""Passes calls of the toolkit on to its program inside the machine."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hisa.plugins.toolkits.guest_call import GuestTool

__all__ = ["SLOW", "Count", "Place", "calc_tool"]

SLOW = 180.0
"""Limit of a call that may be about a million cells, or writes a whole file."""
Place = Annotated[str, Field(min_length=1, max_length=1000)]
"""Cells, a column or a sheet by name."""
Count = Annotated[int, Field(ge=1, le=10_000)]
"""Lines; chosen by hand: more are a slip."""

calc_tool = GuestTool("calc_program", 60.0)
"""Such a call takes 0.1 to 0.5 s with a table of a thousand cells."""
