"""Getters for a picture or a sound that a slide holds or points at."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from pydantic import Field

from hisa.tasks.context import Context
from hisa.tasks.getters.base import getter, read_apart
from hisa.tasks.getters.files import VmFile, vm_file
from hisa.tasks.readers import slide_media
from hisa.tasks.setup.base import Parameters
from hisa.tasks.setup.files import GuestPath

__all__ = ["InSlide"]


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
    taken = await read_apart(slide_media, deck, wanted.slide_index + 1, kind)
    if taken is None:
        return None
    if isinstance(taken, bytes):
        await asyncio.to_thread(place.write_bytes, taken)
        return place
    found = await vm_file(context, VmFile(path=(taken,), dest=(wanted.dest,)))
    return found if isinstance(found, Path) else None
