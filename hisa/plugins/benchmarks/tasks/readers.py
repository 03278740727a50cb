"""Reads files of the agent for getters; each function runs in a separate process.

The module is separate from the getters so that such a process loads little; see `isolated_process`.
"""

from __future__ import annotations

import posixpath
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hisa.plugins.benchmarks.tasks.metric import as_package, parse_xml, reading

__all__ = ["rows_of", "slide_media"]

_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_BACKGROUND = "{http://schemas.openxmlformats.org/presentationml/2006/main}bgPr"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
_EMBEDDED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_MAX_ROWS = 100_000  # chosen by hand


def slide_media(deck: Path, slide: int, kind: str) -> bytes | str | None:
    """Returns a slide's first medium as bytes, or the path that it links to; None if there is none.

    Args:
        deck: the presentation, a .pptx file.
        slide: number of the slide, from 1.
        kind: "image", for the background picture, or "audio".
    """
    with reading("presentation"), zipfile.ZipFile(as_package(deck)) as archive:
        names = set(archive.namelist())
        page, links = f"ppt/slides/slide{slide}.xml", f"ppt/slides/_rels/slide{slide}.xml.rels"
        if page not in names or links not in names:
            return None
        ids = None
        if kind == "image":
            behind = parse_xml(archive.read(page)).iter(_BACKGROUND)
            ids = {picture.get(_EMBEDDED) for part in behind for picture in part.iter(_PICTURE)}
        for link in parse_xml(archive.read(links)).iter(_RELATIONSHIP):
            if kind not in link.get("Type", "") or (ids is not None and link.get("Id") not in ids):
                continue
            target = str(link.get("Target"))
            if target.startswith("file://"):
                return unquote(target.removeprefix("file://"))
            inside = posixpath.normpath(posixpath.join("ppt/slides", target.replace("\\", "/")))
            if inside not in names:
                return None
            return archive.read(inside)
    return None


def rows_of(place: Path, query: str) -> list[Any] | None:
    """Returns at most `_MAX_ROWS` rows of a query over an SQLite file; None if it fails."""
    where = f"{place.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(where, uri=True)) as database:
            return database.execute(query).fetchmany(_MAX_ROWS)
    except sqlite3.DatabaseError:
        return None
