"""Getters for Chrome's cookies and history: tables of its user folder."""

from __future__ import annotations

import asyncio
from typing import Any

from hisa.tasks.chrome import profile_file
from hisa.tasks.context import Context
from hisa.tasks.getters.base import getter, read_apart
from hisa.tasks.readers import rows_of
from hisa.tasks.setup.base import Parameters

__all__ = ["Kept"]


class Kept(Parameters):
    """The name under which the table's file is kept while scoring."""

    dest: str


async def _rows(context: Context, file: str, wanted: Kept, query: str) -> list[Any] | None:
    data = await profile_file(context, file)
    if data is None:
        return None
    place = context.place(wanted.dest)
    await asyncio.to_thread(place.write_bytes, data)
    rows: list[Any] | None = await read_apart(rows_of, place, query)
    return rows if rows is None else [tuple(row) for row in rows]


@getter("cookie_data", Kept)
async def cookies(context: Context, wanted: Kept) -> list[Any] | None:
    """Every cookie with all its columns; None where there is no readable file."""
    return await _rows(context, "Default/Cookies", wanted, "SELECT * FROM cookies")


@getter("history", Kept)
async def history(context: Context, wanted: Kept) -> list[Any] | None:
    """Address, title and time of the last visit; None where there is no readable file."""
    query = "SELECT url, title, last_visit_time FROM urls"
    return await _rows(context, "Default/History", wanted, query)
