"""Draws icons as screens show them, and what is no icon, for the training of the icon reader."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from hisa.screen.geometry import BoundingBox

__all__ = ["Scene", "draw_clutter", "draw_icon", "draw_text", "find_fonts"]

Ink = npt.NDArray[np.uint8]
Generator = np.random.Generator
Scene = tuple[Image.Image, BoundingBox]
"""A picture and the box that a detector draws around the icon in it."""
_SMALLEST, _LARGEST = 11, 48
"""Pixels of an icon; half of them are drawn below 23."""
_CONTRAST = 60
"""Least steps of 255 between an icon and what is behind it; greyed ones have half."""


def draw_icon(ink: Ink, random: Generator) -> Scene:
    """Draws an icon with random size, strokes and colours, alone or on a button.

    Args:
        ink: how dark the icon's pixels are, of a side not below the largest size.
        random: draws all that varies.
    """
    side = round(_SMALLEST * (_LARGEST / _SMALLEST) ** random.random())
    mask = _vary_strokes(Image.fromarray(ink), side, random)
    return _place_mask(mask, random, button_chance=0.45)


def draw_text(fonts: Sequence[Path], random: Generator) -> Scene:
    """Draws letters, a number or a short word, which are no icon."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%.,:-/"
    count = int(random.integers(2, 9))
    text = "".join(random.choice(list(letters), count))
    font = _load_font(fonts[int(random.integers(len(fonts)))], int(random.integers(9, 26)))
    left, top, right, bottom = (int(side) for side in font.getbbox(text))
    mask = Image.new("L", (max(right - left, 3), max(bottom - top, 3)))
    ImageDraw.Draw(mask).text((-left, -top), text, fill=255, font=font)
    return _place_mask(mask, random, button_chance=0.3)


def draw_clutter(ink: Ink, random: Generator) -> Scene:
    """Draws what is no whole icon: a part of one, a blank, noise, or a patch like a photograph.

    Args:
        ink: an icon to take a part of.
        random: draws all that varies.
    """
    kind = random.integers(4)
    if kind == 0:
        picture, box = draw_icon(ink, random)
        share = random.uniform(0.35, 0.6)
        if random.random() < 0.5:
            return picture, BoundingBox(box.left, box.top, box.left + share * box.width, box.bottom)
        return picture, BoundingBox(
            box.left, box.bottom - share * box.height, box.right, box.bottom
        )
    width, height = (int(side) for side in random.integers(14, 56, 2))
    box = BoundingBox(4, 4, width + 4, height + 4)
    size = (width + 8, height + 8)
    if kind == 1:
        return _place_mask(Image.new("L", size), random, button_chance=0.5)
    cells = int(random.integers(2, 9)) if kind == 2 else max(size)
    noise = random.integers(0, 256, (cells, cells, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC), box


def find_fonts(folder: Path) -> list[Path]:
    """Returns the fonts in a folder and below, in order of their names."""
    return sorted(folder.rglob("*.[to]tf"))


@lru_cache(maxsize=4096)
def _load_font(path: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(path), size)


def _vary_strokes(mask: Image.Image, side: int, random: Generator) -> Image.Image:
    """Returns an icon's mask at a size, with strokes made wider or thinner, or turned a little."""
    weight = random.random()
    if weight < 0.15:
        mask = mask.filter(ImageFilter.MaxFilter(3))
    elif weight < 0.25:
        mask = mask.filter(ImageFilter.MinFilter(3))
    if random.random() < 0.15:
        mask = mask.rotate(random.uniform(-6, 6), Image.Resampling.BILINEAR)
    stretch = random.uniform(0.93, 1.07) if random.random() < 0.2 else 1.0
    kinds = (Image.Resampling.BOX, Image.Resampling.LANCZOS, Image.Resampling.BILINEAR)
    return mask.resize((max(8, round(side * stretch)), side), kinds[random.integers(3)])


def _place_mask(mask: Image.Image, random: Generator, *, button_chance: float) -> Scene:
    """Draws a mask in a colour on a background, perhaps on a button, and a box around it."""
    is_button = random.random() < button_chance
    around = int(random.integers(2, 13)) if is_button else 0
    margin = int(random.integers(3, 14))
    edge = margin + around
    size = (mask.width + 2 * edge, mask.height + 2 * edge)
    page = _choose_background(random)
    picture = Image.new("RGB", size, page)
    if is_button:
        corners = (margin, margin, size[0] - margin - 1, size[1] - margin - 1)
        face = _draw_button(ImageDraw.Draw(picture), corners, page, random)
    else:
        face = page
    colour = _choose_contrast(face, random)
    is_greyed = random.random() < 0.1
    picture.paste(colour, (edge, edge), mask.point(lambda dark: dark // 2) if is_greyed else mask)
    if random.random() < 0.25:
        _draw_neighbour(picture, margin, colour, random)
    inside = mask.getbbox() or (0, 0, *mask.size)
    if is_button and random.random() < 0.7:
        sides = [float(side) for side in corners]
    elif random.random() < 0.6:
        sides = [float(edge + side) for side in inside]
    else:
        sides = [edge, edge, edge + mask.width, edge + mask.height]
    return _degrade(picture, random), _shift_box(sides, random)


def _choose_background(random: Generator) -> tuple[int, int, int]:
    level = random.uniform(200, 256) if random.random() < 0.6 else random.uniform(10, 110)
    spread = 6 if random.random() < 0.7 else 80
    colour = np.clip(level + random.uniform(-spread, spread, 3), 0, 255)
    return int(colour[0]), int(colour[1]), int(colour[2])


def _choose_contrast(behind: tuple[int, int, int], random: Generator) -> tuple[int, int, int]:
    """A colour, grey more often than not, that can be seen on what is behind."""
    while True:
        colour = random.integers(0, 256, 3)
        if random.random() < 0.65:
            colour[:] = colour[0]
        if np.abs(colour - np.array(behind)).max() > _CONTRAST:
            return int(colour[0]), int(colour[1]), int(colour[2])


def _draw_button(
    pen: ImageDraw.ImageDraw,
    corners: tuple[int, int, int, int],
    page: tuple[int, int, int],
    random: Generator,
) -> tuple[int, int, int]:
    """Draws a button's face and border; returns the face's colour."""
    is_plain = random.random() < 0.45
    face = page if is_plain else _choose_background(random)
    border = _choose_contrast(face, random) if is_plain or random.random() < 0.4 else None
    most = min(corners[2] - corners[0], corners[3] - corners[1]) / 2
    radius = (0.0, random.uniform(2, 8), most)[random.integers(3)]
    width = int(random.integers(1, 3))
    pen.rounded_rectangle(corners, min(radius, most), fill=face, outline=border, width=width)
    return face


def _draw_neighbour(
    picture: Image.Image, margin: int, colour: tuple[int, int, int], random: Generator
) -> None:
    """Draws the end of another thing at an edge of the picture, outside the margin's inner half."""
    reach = max(1, margin // 2)
    pen = ImageDraw.Draw(picture)
    top = int(random.integers(0, picture.height))
    bottom = top + int(random.integers(2, 14))
    if random.random() < 0.5:
        pen.rectangle((0, top, reach - 1, bottom), fill=colour)
    else:
        pen.rectangle((picture.width - reach, top, picture.width, bottom), fill=colour)


def _shift_box(sides: Sequence[float], random: Generator) -> BoundingBox:
    """A box with the errors of a detector: a pixel or two, now and then more."""
    error = 1.0 if random.random() < 0.7 else 2.5
    left, top, right, bottom = np.array(sides) + random.normal(0, error, 4).round()
    return BoundingBox(left, top, max(right, left + 6), max(bottom, top + 6))


def _degrade(picture: Image.Image, random: Generator) -> Image.Image:
    """The picture as screens and their transfer spoil it: blurred, scaled back, compressed."""
    if random.random() < 0.15:
        picture = picture.filter(ImageFilter.GaussianBlur(random.uniform(0.3, 0.9)))
    if random.random() < 0.15:
        factor = random.uniform(0.6, 1.6)
        other = (round(picture.width * factor), round(picture.height * factor))
        picture = picture.resize(other, Image.Resampling.BILINEAR).resize(picture.size)
    if random.random() < 0.25:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=int(random.integers(40, 95)))
        picture = Image.open(buffer).convert("RGB")
    return picture
