"""Outlines of pictures on buttons: a bin, a bell, a house, ... as ``pictograms.txt`` has them."""

from __future__ import annotations

from importlib.resources import files

from PIL import Image, ImageDraw

__all__ = ["PLAIN", "outlines"]

PLAIN = "~"
"""Begins the name of an outline that is no picture, but that one may be taken for."""
_SIZE = 96
"""Pixels of either side of an outline."""


def outlines() -> list[tuple[str, Image.Image]]:
    """Names and filled outlines; several of one name are ways to draw it."""
    text = (files("hisa.plugins.reading") / "pictograms.txt").read_text("utf-8")
    rows = [line.split(": ") for line in text.splitlines() if line[0] != "#"]
    return [(name, _draw(shapes.split("; "))) for name, shapes in rows]


def _draw(shapes: list[str]) -> Image.Image:
    picture = Image.new("L", (_SIZE, _SIZE))
    pen = ImageDraw.Draw(picture)
    for shape in shapes:
        sort, *words = shape.replace(",", " ").split()
        sides = [float(word) * _SIZE for word in words]
        if sort == "area":
            pen.polygon(sides, fill=255)
        elif sort == "bow":
            pen.arc(sides, 180, 360, 255, _SIZE // 8)
        else:
            inside = (*sides[:2], sides[2] - 1, sides[3] - 1)
            (pen.rectangle if sort == "box" else pen.ellipse)(inside, fill=255)
    return picture
