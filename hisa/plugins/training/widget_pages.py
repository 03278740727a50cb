"""Pages of three to five coloured widgets, drawn with Pillow: 80x64 pixels, each with its boxes.

A page is a function of its seed and style. It has no text, since none is legible at this size: a
widget is described by colour and kind ("the red checkbox"), which are unique on a page.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image, ImageDraw

__all__ = [
    "HEIGHT",
    "HELD_OUT_SEEDS",
    "STYLES",
    "WIDTH",
    "Box",
    "Target",
    "draw_page",
    "overlap",
    "targets",
    "training_targets",
]

WIDTH, HEIGHT = 80, 64
_TUNING_SEEDS, HELD_OUT_SEEDS = 900_000, 1_000_000
"""Training pages have seeds below the first number; pages for reports begin at the second."""
_COLOURS = {
    "red": (200, 40, 40), "green": (40, 160, 60), "blue": (50, 80, 220), "yellow": (230, 210, 60),
}  # fmt: skip
_SIZES = {
    "button": (14, 24, 8, 12), "checkbox": (9, 9, 9, 9), "radio": (9, 9, 9, 9),
    "field": (20, 34, 9, 9),
}  # fmt: skip
"""Least and most width, and least and most height, of each kind in pixels."""
_PAGES = 2048  # training pages, with 8,000 targets; drawing them takes a second
_GAP, _TRIES = 3, 20
"""Least pixels between widgets, and tries to find room for one."""


class Box(NamedTuple):
    """A rectangle in pixels of its picture, sides included (as in GTA1's eq. 2)."""

    left: float
    top: float
    right: float
    bottom: float


class Style(NamedTuple):
    """The range of the background's channels, the radius of button corners, the width of lines."""

    light: tuple[int, int]
    radius: int
    line: int


STYLES = {
    "plain": Style((220, 255), 3, 2),
    "square": Style((220, 255), 0, 1),
    "dusk": Style((150, 200), 5, 2),
}
"""The styles; training uses only "plain"."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A picture, a description of one thing on it, and the thing's annotated box."""

    picture: Image.Image  # RGB, of any size
    description: str  # of the thing
    box: Box  # the annotation, which may be wrong, in pixels of the picture
    place: str  # name of the page and the thing, for reports
    elements: tuple[Box, ...] = ()  # boxes of the accessibility tree's elements on this picture
    tree: str = ""  # name of that tree; empty if there is none


def draw_page(seed: int, style: str = "plain") -> tuple[Image.Image, dict[str, Box]]:
    """Returns a page's picture, and its widgets' boxes by name, such as "red checkbox"."""
    random_ = random.Random(seed)
    look = STYLES[style]
    red, green, blue = (random_.randint(*look.light) for _ in range(3))
    picture = Image.new("RGB", (WIDTH, HEIGHT), (red, green, blue))
    pen = ImageDraw.Draw(picture)
    names = [(colour, kind) for colour in _COLOURS for kind in _SIZES]
    boxes: dict[str, Box] = {}
    for colour, kind in random_.sample(names, random_.randint(3, 5)):
        narrow, wide, low, high = _SIZES[kind]
        width, height = random_.randint(narrow, wide), random_.randint(low, high)
        for _ in range(_TRIES):
            x, y = random_.randint(1, WIDTH - 2 - width), random_.randint(1, HEIGHT - 2 - height)
            box = Box(x, y, x + width, y + height)
            if not any(overlap(box, other, _GAP) for other in boxes.values()):
                boxes[f"{colour} {kind}"] = box
                break
        else:
            continue
        if kind == "button":
            pen.rounded_rectangle(box, look.radius, fill=_COLOURS[colour])
        elif kind == "radio":
            pen.ellipse(box, outline=_COLOURS[colour], width=look.line)
        else:
            fill = "white" if kind == "field" else None
            pen.rectangle(box, fill=fill, outline=_COLOURS[colour], width=look.line)
    return picture, boxes


def overlap(box: Box, other: Box, gap: float = 0) -> bool:
    """Whether ``box`` and ``other`` are less than ``gap`` pixels apart both ways."""
    across = box.left < other.right + gap and other.left < box.right + gap
    return across and box.top < other.bottom + gap and other.top < box.bottom + gap


def targets(seeds: Iterable[int], style: str = "plain", *, every: bool = True) -> Iterator[Target]:
    """Yields the targets of pages.

    Args:
        seeds: of the pages.
        style: of `STYLES`.
        every: whether every widget is a target; if not, one is drawn by the page's seed.
    """
    for seed in seeds:
        picture, boxes = draw_page(seed, style)
        random_ = random.Random(f"target {seed}")
        for name in list(boxes) if every else [random_.choice(list(boxes))]:
            words = f"the {name}" if random_.random() < 0.5 else name
            yield Target(picture, words, boxes[name], f"{style} {seed}: {name}")


def training_targets(seed: int) -> tuple[list[Target], dict[str, list[Target]]]:
    """Returns the targets of the training pages, and by name the held-out ones."""
    tuning = range(_TUNING_SEEDS, _TUNING_SEEDS + 300)
    held = {"tuning": list(targets(tuning, every=False))}
    for style in STYLES:
        seeds = range(HELD_OUT_SEEDS, HELD_OUT_SEEDS + 500)
        held[f"held-out pages, {style}"] = list(targets(seeds, style, every=False))
    return list(targets(range(seed * _PAGES, (seed + 1) * _PAGES))), held
