"""Draws icons as screens show them, and what is no icon, with the box that a detector makes."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from PIL.Image import Resampling

from hisa.screen.geometry import BoundingBox

__all__ = ["Scene", "draw_icon", "draw_other"]

Scene = tuple[Image.Image, BoundingBox]
Colour = tuple[int, int, int]
_CONTRAST = 60
"""Steps of 255 between an icon's colours and what is behind it, on average at least."""
_FONTS = sorted(Path("/usr/share/fonts/truetype").rglob("*.ttf"))
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%.,:-/"


def draw_icon(file: Path, draws: Random) -> Scene:
    """Returns an icon of 11 to 48 pixels, with its colours or a new one, alone or on a button."""
    icon: Image.Image = Image.open(file)
    if icon.mode == "L" and draws.random() < 0.25:
        icon = icon.filter(draws.choice((ImageFilter.MaxFilter(3), ImageFilter.MinFilter(3))))
    side = round(11 * (48 / 11) ** draws.random())
    kinds = (Resampling.BOX, Resampling.LANCZOS, Resampling.BILINEAR)
    return _place(icon.resize((side, side), draws.choice(kinds)), draws)


def draw_other(file: Path, draws: Random) -> Scene:
    """Returns text, noise, or a part of an icon or beside it."""
    kind = draws.random()
    if kind < 0.55:
        font = ImageFont.truetype(draws.choice(_FONTS), draws.randint(9, 25))
        text = "".join(draws.choices(_LETTERS, k=draws.randint(2, 8)))
        mask = Image.new("L", (round(font.getlength(text)) + 2, round(font.size * 1.3)))
        ImageDraw.Draw(mask).text((1, 0), text, fill=255, font=font)
        return _place(mask, draws)
    if kind < 0.7:
        size = (draws.randint(14, 55), draws.randint(14, 55))
        grains = draws.randint(2, 24)
        noise = Image.frombytes("L", (grains, grains), draws.randbytes(grains**2))
        return noise.resize(size).convert("RGB"), BoundingBox(0, 0, *size)
    picture, _ = draw_icon(file, draws)
    left, top = draws.uniform(0, 0.6) * picture.width, draws.uniform(0, 0.6) * picture.height
    right, bottom = left + 0.4 * picture.width, top + 0.4 * picture.height
    return picture, BoundingBox(left, top, right, bottom)


def _place(icon: Image.Image, draws: Random) -> Scene:
    """An icon, or a mask in a colour, on a page or a button."""
    mask, colours = icon, Image.new("RGB", icon.size, _choose_colour(draws))
    if icon.mode == "RGBA":
        mask, colours = icon.getchannel("A"), icon.convert("RGB")
    opacity = np.asarray(mask)
    inks = np.asarray(colours, np.int16)[opacity >= opacity.max() // 2]
    faces = (_choose_colour(draws) for _ in range(30))
    visible = (face for face in faces if np.abs(inks - face).max(axis=1).mean() > _CONTRAST)
    face = next(visible, (255, 255, 255))
    around = draws.randint(2, 12) if draws.random() < 0.45 else 0
    page, border = (draws.choice((face, _choose_colour(draws))) if around else face for _ in "12")
    edge = around + draws.randint(3, 13)
    picture = Image.new("RGB", (icon.width + 2 * edge, icon.height + 2 * edge), page)
    sides = (edge, edge, edge + icon.width, edge + icon.height)
    button = (edge - around, edge - around, sides[2] + around, sides[3] + around)
    radius = draws.choice((0, draws.uniform(2, 8), min(icon.size) / 2 + around))
    ImageDraw.Draw(picture).rounded_rectangle(button, radius, face, border)
    strength = 0.5 if draws.random() < 0.1 else 1
    picture.paste(colours, (edge, edge), mask.point(lambda level: round(level * strength)))
    if draws.random() < 0.25:
        picture = picture.filter(ImageFilter.GaussianBlur(draws.uniform(0.3, 0.9)))
    if draws.random() < 0.25:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=draws.randint(40, 95))
        picture = Image.open(buffer)
    error = draws.choice((1, 1, 2.5))
    box = button if draws.random() < 0.7 else sides
    left, top, right, bottom = (round(side + draws.gauss(0, error)) for side in box)
    return picture, BoundingBox(left, top, max(right, left + 6), max(bottom, top + 6))


def _choose_colour(draws: Random) -> Colour:
    """A colour, light and grey more often than not."""
    level = draws.choice((draws.randint(200, 255), draws.randint(0, 255)))
    spread = draws.choice((3, 3, 80))
    red, green, blue = (min(max(level + draws.randint(-spread, spread), 0), 255) for _ in "rgb")
    return red, green, blue
