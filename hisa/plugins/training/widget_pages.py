"""Pages of three to five coloured widgets, drawn with Pillow: 80x64 pixels, each with its boxes.

A page is a function of its seed and style. There is no text on it, for none can be read at this
size: a widget goes by colour and kind ("the red checkbox"), of which no page has two alike.
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
"""Pages for training have seeds below the first; those of reports begin at the second."""
_COLOURS = {
    "red": (200, 40, 40), "green": (40, 160, 60), "blue": (50, 80, 220), "yellow": (230, 210, 60),
}  # fmt: skip
_SIZES = {
    "button": (14, 24, 8, 12), "checkbox": (9, 9, 9, 9), "radio": (9, 9, 9, 9),
    "field": (20, 34, 9, 9),
}  # fmt: skip
"""Of each kind, least and most width and height."""
_PAGES = 2048  # for training, with 8,000 targets: a second's work
_GAP, _TRIES = 3, 20
"""Pixels between widgets at least, and tries to find room for one."""


class Box(NamedTuple):
    """A rectangle in pixels of its picture; as in GTA1's eq. 2 all four sides belong to it."""

    left: float
    top: float
    right: float
    bottom: float


class Style(NamedTuple):
    """The range of a background's channels, the radius of buttons' corners, the width of lines."""

    light: tuple[int, int]
    radius: int
    line: int


STYLES = {
    "plain": Style((220, 255), 3, 2),
    "square": Style((220, 255), 0, 1),
    "dusk": Style((150, 200), 5, 2),
}
"""Training has "plain" alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A picture, a description of one thing on it, and the box it is said to have."""

    picture: Image.Image  # RGB, of any size
    description: str  # of the thing
    box: Box  # the annotation, which may be wrong, in pixels of the picture
    place: str  # names page and thing in reports
    elements: tuple[Box, ...] = ()  # boxes of what accessibility tells of this picture
    tree: str = ""  # names the tree that these are from; empty: there is none


def draw_page(seed: int, style: str = "plain") -> tuple[Image.Image, dict[str, Box]]:
    """Returns a page and its widgets' boxes by name, such as "red checkbox"."""
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
    """Whether two boxes are less than ``gap`` pixels apart both ways."""
    across = box.left < other.right + gap and other.left < box.right + gap
    return across and box.top < other.bottom + gap and other.top < box.bottom + gap


def targets(seeds: Iterable[int], style: str = "plain", *, every: bool = True) -> Iterator[Target]:
    """Yields the targets of pages: every widget of each, or one drawn by the page's seed."""
    for seed in seeds:
        picture, boxes = draw_page(seed, style)
        random_ = random.Random(f"target {seed}")
        for name in list(boxes) if every else [random_.choice(list(boxes))]:
            words = f"the {name}" if random_.random() < 0.5 else name
            yield Target(picture, words, boxes[name], f"{style} {seed}: {name}")


def training_targets(seed: int) -> tuple[list[Target], dict[str, list[Target]]]:
    """Returns the targets of a training's pages and, by name, those held out."""
    tuning = range(_TUNING_SEEDS, _TUNING_SEEDS + 300)
    held = {"tuning": list(targets(tuning, every=False))}
    for style in STYLES:
        seeds = range(HELD_OUT_SEEDS, HELD_OUT_SEEDS + 500)
        held[f"held-out pages, {style}"] = list(targets(seeds, style, every=False))
    return list(targets(range(seed * _PAGES, (seed + 1) * _PAGES))), held
