"""Pages of three to five coloured widgets, drawn with Pillow: 80x64 pixels, each with its boxes.

A page is a function of its seed and style. There is no text on it: at this size none can be read,
so that a widget goes by its colour and kind ("the red checkbox"), of which no page has two alike.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from PIL import Image, ImageDraw

__all__ = [
    "HEIGHT", "HELD_OUT_SEEDS", "HELD_OUT_STYLES", "STYLES", "TUNING_SEEDS", "WIDTH", "Box",
    "Target", "draw_page", "misplace", "plant", "targets",
]  # fmt: skip

WIDTH, HEIGHT = 80, 64
TUNING_SEEDS, HELD_OUT_SEEDS = 900_000, 1_000_000
"""Pages for training have seeds below the first; those of reports begin at the second."""
_COLOURS = {
    "red": (200, 40, 40),
    "green": (40, 160, 60),
    "blue": (50, 80, 220),
    "yellow": (230, 210, 60),
}
_SIZES = {
    "button": (range(14, 25), range(8, 13)),
    "checkbox": (range(9, 10), range(9, 10)),
    "radio": (range(9, 10), range(9, 10)),
    "field": (range(20, 35), range(9, 10)),
}
"""Widths and heights of each kind, in pixels."""
_GAP = 3
"""Pixels between two widgets at least."""
_TRIES = 20


class Box(NamedTuple):
    """A rectangle in pixels of its picture; as in GTA1's eq. 2 all four sides belong to it."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Style:
    """How a page is drawn.

    Args:
        light: darkest and lightest of its background's channels.
        radius: of a button's corners.
        outline: width of lines.
    """

    light: tuple[int, int] = (220, 255)
    radius: int = 3
    outline: int = 2


STYLES = {
    "plain": Style(),
    "square": Style(radius=0, outline=1),
    "dusk": Style(light=(150, 200), radius=5, outline=2),
}
"""Training has the first alone."""
HELD_OUT_STYLES = ("square", "dusk")


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A picture, a description of one thing on it, and the box it is said to have.

    Args:
        picture: RGB, of any size.
        description: of the thing.
        box: in pixels of the picture; the annotation, which may be wrong.
        place: names page and thing in reports.
        elements: boxes of what accessibility tells of this picture; empty where it tells nothing.
        planted: whether the box was made wrong on purpose.
    """

    picture: Image.Image
    description: str
    box: Box
    place: str
    elements: tuple[Box, ...] = ()
    planted: bool = False


def draw_page(seed: int, style: str = "plain") -> tuple[Image.Image, dict[str, Box]]:
    """Returns a page and its widgets' boxes by name, such as "red checkbox"."""
    random_ = random.Random(seed)
    look = STYLES[style]
    ground = (random_.randint(*look.light), random_.randint(*look.light))
    picture = Image.new("RGB", (WIDTH, HEIGHT), (*ground, random_.randint(*look.light)))
    pen = ImageDraw.Draw(picture)
    names = [(colour, kind) for colour in _COLOURS for kind in _SIZES]
    random_.shuffle(names)
    boxes: dict[str, Box] = {}
    for colour, kind in names[: random_.randint(3, 5)]:
        width, height = (random_.choice(sizes) for sizes in _SIZES[kind])
        for _ in range(_TRIES):
            left, top = random_.randint(1, WIDTH - 2 - width), random_.randint(1, HEIGHT - 2 - height)
            box = Box(left, top, left + width, top + height)
            if not any(_near(box, other) for other in boxes.values()):
                _draw(pen, kind, box, _COLOURS[colour], look)
                boxes[f"{colour} {kind}"] = box
                break
    return picture, boxes


def _draw(
    pen: ImageDraw.ImageDraw, kind: str, box: Box, colour: tuple[int, int, int], style: Style
) -> None:
    if kind == "button":
        pen.rounded_rectangle(box, style.radius, fill=colour)
    elif kind == "radio":
        pen.ellipse(box, outline=colour, width=style.outline)
    else:
        fill = (255, 255, 255) if kind == "field" else None
        pen.rectangle(box, fill=fill, outline=colour, width=style.outline)


def _near(box: Box, other: Box, gap: float = _GAP) -> bool:
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


def misplace(box: Box, random_: random.Random) -> Box:
    """Returns a box of the same size elsewhere on an 80x64 page, clear of the one it had."""
    width, height = box.right - box.left, box.bottom - box.top
    while True:
        left, top = random_.uniform(0, WIDTH - 1 - width), random_.uniform(0, HEIGHT - 1 - height)
        moved = Box(left, top, left + width, top + height)
        if not _near(moved, box, 0):
            return moved


def plant(clean: Iterable[Target], share: float, seed: int) -> Iterator[Target]:
    """Yields the targets, of which about this share got a box that lies elsewhere."""
    random_ = random.Random(f"planted {seed}")
    for target in clean:
        if random_.random() < share:
            target = replace(target, box=misplace(target.box, random_), planted=True)
        yield target
