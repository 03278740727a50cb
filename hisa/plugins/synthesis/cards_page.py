"""A page of cards with pictures: what was explored, the tasks made of it, samples of a data set.

It loads nothing and has no script; its texts come from screens, and are escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from PIL import Image

from hisa.machine.storage import replace_file
from hisa.runs.pictures import Picture, as_picture
from hisa.runs.templates import templates
from hisa.runs.wording import one_line

__all__ = ["Card", "Mark", "Page", "Shot", "write_page"]

_LARGEST = (800, 450)  # width and height of a picture on the page, in pixels
Mark = tuple[Literal["target", "other", "point"], Sequence[float]]
"""What is drawn on a picture: a box (left, top, right, bottom), or a point."""


class Shot(NamedTuple):
    """A picture by its name; ``size`` and boxes are in the same pixels."""

    label: str
    image: str
    size: tuple[int, int] = (1, 1)
    boxes: Sequence[Mark] = ()


class Card(NamedTuple):
    """One thing that is shown; ``parts`` are lines by their headings."""

    title: str
    note: str = ""
    shots: Sequence[Shot] = ()
    parts: Mapping[str, Sequence[str]] = {}


class Page(NamedTuple):
    """All of a page; ``tiles`` are numbers by their words, ``folded`` sections are closed."""

    title: str
    tiles: Mapping[str, object]
    note: str
    sections: Mapping[str, Sequence[Card]]
    folded: Mapping[str, Sequence[Card]]


def write_page(page: Page, file: Path, images: Mapping[str, Path]) -> Path:
    """Write a page; ``images`` are the files of its pictures by name. Raises: OSError."""
    cards = [card for part in (page.sections, page.folded) for own in part.values() for card in own]
    names = {s.image: images[s.image] for card in cards for s in card.shots if s.image in images}
    pictures = {name: picture for name, path in names.items() if (picture := _picture(path))}
    world = templates(Path(__file__).resolve().parent)
    world.filters |= {"line": one_line}
    text = world.get_template("cards_page.html.j2").render(page=page, pictures=pictures)
    replace_file(file, text.encode("utf-8", "replace"))
    return file


def _picture(path: Path) -> Picture | None:
    """A picture that is not too large; None where the file is none."""
    try:
        with Image.open(path, formats=("PNG",)) as file:
            image = file.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    image.thumbnail(_LARGEST, reducing_gap=2.0)
    return as_picture(image)
