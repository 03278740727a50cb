"""A page of cards with pictures: what was explored, the tasks made of it, samples of a data set.

It loads nothing and has no script; its texts come from screens, and are escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from PIL import Image

from hisa.machine.storage import replace_file
from hisa.runs.pictures import Picture, as_picture
from hisa.runs.templates import templates
from hisa.runs.wording import one_line

__all__ = ["Card", "Mark", "Page", "Section", "Shot", "write_page"]

_LARGEST = (800, 450)  # width and height of a picture on the page, in pixels
Mark = tuple[Literal["target", "other", "point"], Sequence[float]]
"""What is drawn on a picture: a box (left, top, right, bottom), or a point."""


@dataclass(frozen=True)
class Shot:
    """A picture by its name; ``size`` and boxes are in the same pixels."""

    label: str
    image: str
    size: tuple[int, int] = (1, 1)
    boxes: Sequence[Mark] = ()


@dataclass(frozen=True)
class Card:
    """One thing that is shown; ``parts`` are lines by their headings."""

    title: str
    note: str = ""
    shots: Sequence[Shot] = ()
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """Cards under a heading; a folded one has to be opened."""

    title: str
    cards: Sequence[Card]
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """All of a page; ``tiles`` are numbers by their words."""

    brand: str
    title: str
    tiles: Mapping[str, object]
    note: str
    sections: Sequence[Section]


def write_page(page: Page, file: Path, images: Mapping[str, Path]) -> Path:
    """Write a page; ``images`` are the files of its pictures by name. Raises: OSError."""
    cards = [card for section in page.sections for card in section.cards]
    names = {s.image: images[s.image] for card in cards for s in card.shots if s.image in images}
    with ThreadPoolExecutor() as pool:
        read = pool.map(_picture, names.values())
        pictures = {name: picture for name, picture in zip(names, read, strict=True) if picture}
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
