"""Screens with known controls for the detector: read, cut and disturbed, and made into maps."""

from __future__ import annotations

import io
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps

from hisa.plugins.eyes.detector import OUTER_ROLES, ROLES, STATES, STRIDE
from hisa.plugins.eyes.training.training_screens import Row, read_screen_rows

__all__ = ["CROP", "Batch", "Screen", "draw_maps", "make_batches", "read_screens"]

CROP = (640, 384)
"""Width and height in pixels; a step of four takes two cores about 0.35 s."""
_SHAPES = ((CROP, 4), ((2 * CROP[0], 2 * CROP[1]), 1))
"""Sizes of crops and counts of batches in turn: large ones show dialogs and text areas whole."""
_SCALES = (0.45, 2.0)
_LEAST_SHARE, _LEAST_SIDE = 0.3, 4.0
"""Of a thing that the edge of a crop cuts: the visible share and pixels that make it a thing."""
_SPREAD = 0.54 / 6
"""Standard deviation of a heat map's bump, as a share of the box (0.54: TTFNet, 1909.00700)."""
_FILTERS = (Image.Resampling.BILINEAR, Image.Resampling.LANCZOS, Image.Resampling.BOX)

Floats = NDArray[np.float32]
Batch = tuple[NDArray[Any], ...]
"""Pixels of crops [n, height, width, 3], and their maps as `draw_maps` makes them."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A picture and what is on it; ``boxes`` [n, 4] in pixels, ``states`` [n, states] 0 or 1."""

    path: Path
    source: str
    split: str
    roles: NDArray[np.int64]
    boxes: Floats
    states: Floats

    def open_picture(self) -> Image.Image:
        """Returns the screen's picture in RGB."""
        with Image.open(self.path) as picture:
            return picture.convert("RGB")


def read_screens(folders: Iterable[Path], split: str = "") -> list[Screen]:
    """Returns the screens of folders, of one split or of all."""
    rows = ((folder, row) for folder in folders for row in read_screen_rows(folder))
    return [_make_screen(folder, row) for folder, row in rows if split in ("", row["split"])]


def _make_screen(folder: Path, row: Row) -> Screen:
    things = [thing for thing in row["boxes"] if thing["role"] in ROLES]
    states = [[name in thing["states"] for name in STATES] for thing in things]
    return Screen(
        folder / row["file"],
        row["source"],
        row["split"],
        np.array([ROLES.index(thing["role"]) for thing in things], np.int64),
        np.array([thing["box"] for thing in things], np.float32).reshape(-1, 4),
        np.array(states, np.float32).reshape(-1, len(STATES)),
    )


def make_batches(
    folders: Sequence[Path], *, seed: int, apart: Sequence[str] = ()
) -> Iterator[Batch]:
    """Yields batches of disturbed crops of training screens without end.

    Args:
        folders: folders in the shared format.
        seed: of all that is drawn.
        apart: sources that are not trained on.
    """
    draws = random.Random(seed)
    screens = [s for s in read_screens(folders, "train") if s.source not in apart and len(s.boxes)]
    drawn = _draw_screens(screens, draws)
    for size, count in itertools.cycle(_SHAPES):
        examples = [_cut_example(*next(drawn), size, draws) for _ in range(count)]
        yield tuple(map(np.stack, zip(*examples, strict=True)))


def _draw_screens(
    screens: Sequence[Screen], draws: random.Random
) -> Iterator[tuple[Screen, int | None]]:
    """Yields screens, half of them for a role that is to be near the middle of the crop.

    Sources count by the square root of their screens; roles count evenly, since sliders are rarer
    than links.
    """
    by_source, by_role = defaultdict[str, list[Screen]](list), defaultdict[int, list[Screen]](list)
    for screen in screens:
        by_source[screen.source].append(screen)
        for role in np.unique(screen.roles).tolist():
            by_role[role].append(screen)
    sources = list(by_source.values())
    shares = [math.sqrt(len(source)) for source in sources]
    while True:
        role = draws.choice(list(by_role))
        yield draws.choice(by_role[role]), role
        yield draws.choice(draws.choices(sources, shares)[0]), None


def _cut_example(
    screen: Screen, role: int | None, size: tuple[int, int], draws: random.Random
) -> Batch:
    """Returns a crop and its maps, at a drawn scale, around a thing of a role if there is one."""
    picture = screen.open_picture()
    least = max(_SCALES[0], size[0] / picture.width, size[1] / picture.height)
    scale = math.exp(draws.uniform(math.log(least), math.log(max(_SCALES[1], least))))
    sides = np.array(size) / scale
    middle = np.array([draws.uniform(0, side) for side in picture.size])
    if role is not None:
        box = screen.boxes[draws.choice(np.flatnonzero(screen.roles == role).tolist())]
        middle = (box[:2] + box[2:]) / 2 + sides * [draws.uniform(-0.4, 0.4) for _ in "xy"]
    corner = np.clip(middle - sides / 2, 0, np.maximum(np.array(picture.size) - sides, 0))
    edges = (*corner.tolist(), *np.minimum(corner + sides, picture.size).tolist())
    crop = picture.resize(size, draws.choice(_FILTERS), edges)
    boxes = ((screen.boxes - np.tile(corner, 2)) * scale).astype(np.float32)
    clipped = np.clip(boxes, 0, np.array(size * 2, np.float32))
    extents = clipped[:, 2:] - clipped[:, :2]
    share = extents.prod(1) / np.maximum((boxes[:, 2:] - boxes[:, :2]).prod(1), 1e-6)
    stays = (share >= _LEAST_SHARE) & (extents.min(1, initial=1e9) >= _LEAST_SIDE)
    maps = draw_maps(clipped[stays], screen.roles[stays], screen.states[stays], size)
    return np.array(_disturb(crop, draws)), *maps


def _disturb(crop: Image.Image, draws: random.Random) -> Image.Image:
    """Returns a crop with other colours, and traces of compression."""
    for enhance in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
        if draws.random() < 0.3:
            crop = enhance(crop).enhance(draws.uniform(0.6, 1.3))
    if draws.random() < 0.12:
        crop = ImageOps.invert(crop)
    if draws.random() < 0.15:
        crop = Image.merge("RGB", draws.sample(crop.split(), 3))
    if draws.random() < 0.3:
        file = io.BytesIO()
        crop.save(file, "JPEG", quality=draws.randint(30, 95), subsampling=draws.choice((0, 2)))
        crop = Image.open(file).convert("RGB")
    return crop


def draw_maps(
    boxes: Floats, roles: NDArray[np.int64], states: Floats, size: tuple[int, int]
) -> tuple[Floats, ...]:
    """Returns the maps heat, sides, weights and states for things; smaller ones lie on top.

    ``heat`` [h, w, roles + 1] is 1 at centres and falls to 0 around them; ``sides`` [h, w, 2, 4]
    has the logarithms of the distances in pixels, for inner and for outer roles; ``weights``
    [h, w, 2] of a box sum to 1; ``states`` [h, w, states] is 1 where a state is seen.

    Args:
        boxes: [n, 4] in pixels, inside the picture.
        roles: their places in `ROLES`.
        states: 0 or 1 [n, states].
        size: width and height of the picture in pixels.
    """
    width, height = size[0] // STRIDE, size[1] // STRIDE
    heat = np.zeros((height, width, len(ROLES) + 1), np.float32)
    sides = np.zeros((height, width, 2, 4), np.float32)
    weights = np.zeros((height, width, 2), np.float32)
    state_map = np.zeros((height, width, len(STATES)), np.float32)
    for at in np.argsort(-(boxes[:, 2:] - boxes[:, :2]).prod(1)):
        left, top, right, bottom = map(float, boxes[at])
        columns, across = _draw_bump(left, right, width)
        rows, down = _draw_bump(top, bottom, height)
        patch, bump = (slice(*rows), slice(*columns)), down[:, None] * across
        group = int(ROLES[roles[at]] in OUTER_ROLES)
        for channel in (roles[at], len(ROLES)):
            heat[*patch, channel] = np.maximum(heat[*patch, channel], bump)
        x = (np.arange(*columns) + 0.5) * STRIDE
        y = (np.arange(*rows)[:, None] + 0.5) * STRIDE
        distances = np.broadcast_arrays(x - left, y - top, right - x, bottom - y)
        sides[*patch, group] = np.log(np.maximum(np.stack(distances, -1), 0.5))
        weights[*patch, group] = bump / bump.sum()
        state_map[patch] = states[at]
    return heat, sides, weights, state_map


def _draw_bump(low: float, high: float, cells: int) -> tuple[tuple[int, int], Floats]:
    """Returns the range of cells around the middle of an interval, and values from 0 to 1 there."""
    centre = min(cells - 1, int((low + high) / 2 / STRIDE))
    extent = (high - low) / STRIDE
    reach = int(extent / 2 * 0.54)
    first, last = max(0, centre - reach), min(cells, centre + reach + 1)
    spread = max((2 * reach + 1) / 6, _SPREAD * extent)
    offsets = np.arange(first, last) - centre
    return (first, last), np.exp(-(offsets**2) / (2 * spread**2)).astype(np.float32)
