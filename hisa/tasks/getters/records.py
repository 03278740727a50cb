"""Getters for Chrome's cookies and history: tables of its user folder."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hisa.tasks.chrome import profile_file
from hisa.tasks.context import Context
from hisa.tasks.getters.base import getter
from hisa.tasks.setup.base import Parameters

__all__ = ["Kept"]

_MAX_ROWS = 100_000


class Kept(Parameters):
    """The name under which the table's file is kept while scoring."""

    dest: str


async def _rows(context: Context, file: str, wanted: Kept, query: str) -> list[Any] | None:
    data = await profile_file(context, file)
    if data is None:
        return None
    place = context.place(wanted.dest)
    await asyncio.to_thread(place.write_bytes, data)
    try:
        return await asyncio.to_thread(_read, place, query)
    except sqlite3.DatabaseError:
        return None


def _read(place: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{place}?mode=ro&immutable=1", uri=True)) as base:
        return base.execute(query).fetchmany(_MAX_ROWS)


@getter("cookie_data", Kept)
async def cookies(context: Context, wanted: Kept) -> list[Any] | None:
    """Every cookie with all its columns; None where there is no readable file."""
    return await _rows(context, "Default/Cookies", wanted, "SELECT * FROM cookies")


@getter("history", Kept)
async def history(context: Context, wanted: Kept) -> list[Any] | None:
    """Address, title and time of the last visit; None where there is no readable file."""
    query = "SELECT url, title, last_visit_time FROM urls"
    return await _rows(context, "Default/History", wanted, query)
