"""Getters for a picture or a sound that a slide holds or points at."""

from __future__ import annotations

import asyncio
import posixpath
import zipfile
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

from pydantic import Field

from hisa.tasks.context import Context
from hisa.tasks.getters.base import getter
from hisa.tasks.getters.files import VmFile, vm_file
from hisa.tasks.metrics.base import as_package, reading
from hisa.tasks.setup.base import Parameters
from hisa.tasks.setup.files import GuestPath

__all__ = ["InSlide"]

_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_BACKGROUND = "{http://schemas.openxmlformats.org/presentationml/2006/main}bgPr"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
_EMBEDDED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"


class InSlide(Parameters):
    """A slide of a presentation, counted from 0."""

    ppt_file_path: GuestPath
    slide_index: Annotated[int, Field(ge=0)]
    dest: str


@getter("background_image_in_slide", InSlide)
async def background_image(context: Context, wanted: InSlide) -> Path | None:
    """The picture behind a slide; None where there is none."""
    return await _media(context, wanted, "image")


@getter("audio_in_slide", InSlide)
async def audio(context: Context, wanted: InSlide) -> Path | None:
    """The first sound of a slide; None where there is none."""
    return await _media(context, wanted, "audio")


async def _media(context: Context, wanted: InSlide, kind: str) -> Path | None:
    deck = await vm_file(context, VmFile(path=(wanted.ppt_file_path,)))
    if not isinstance(deck, Path):
        return None
    place = context.place(wanted.dest)
    taken = await asyncio.to_thread(_take, deck, wanted.slide_index + 1, kind, place)
    if not isinstance(taken, str):
        return taken
    found = await vm_file(context, VmFile(path=(taken,), dest=(wanted.dest,)))
    return found if isinstance(found, Path) else None


def _take(deck: Path, slide: int, kind: str, place: Path) -> Path | str | None:
    """``place``, where what lies in the file is kept now, or the path that the file points at."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    with reading("presentation"), zipfile.ZipFile(as_package(deck)) as archive:
        names = set(archive.namelist())
        page, links = f"ppt/slides/slide{slide}.xml", f"ppt/slides/_rels/slide{slide}.xml.rels"
        if page not in names or links not in names:
            return None
        ids = None
        if kind == "image":
            tree = etree.fromstring(archive.read(page), parser)
            ids = {
                picture.get(_EMBEDDED)
                for background in tree.iter(_BACKGROUND)
                for picture in background.iter(_PICTURE)
            }
        for link in etree.fromstring(archive.read(links), parser).iter(_RELATIONSHIP):
            if kind not in link.get("Type", "") or (ids is not None and link.get("Id") not in ids):
                continue
            target = str(link.get("Target"))
            if target.startswith("file://"):
                return unquote(target.removeprefix("file://"))
            inside = posixpath.normpath(posixpath.join("ppt/slides", target.replace("\\", "/")))
            if inside not in names:
                return None
            place.write_bytes(archive.read(inside))
            return place
    return None
