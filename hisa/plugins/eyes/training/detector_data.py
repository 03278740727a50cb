"""Screens with known controls for the detector: read, cut and disturbed, and made into maps."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from hisa.plugins.eyes.detector import OUTER_ROLES, ROLES, STATES, STRIDE

__all__ = ["CROP", "Batch", "Screen", "draw_maps", "make_batches", "open_pixels", "read_screens"]

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


@dataclass(frozen=True, slots=True)
class Screen:
    """A picture and what is on it; ``boxes`` [n, 4] in pixels, ``states`` [n, states] 0 or 1."""

    path: Path
    source: str
    split: str
    roles: NDArray[np.int64]
    boxes: NDArray[np.float32]
    states: NDArray[np.float32]


class Batch(NamedTuple):
    """Pixels of crops and their maps, as `hisa.plugins.eyes.training.detector_net` takes them."""

    pixels: NDArray[np.uint8]
    heat: NDArray[np.float32]
    sides: NDArray[np.float32]
    weights: NDArray[np.float32]
    states: NDArray[np.float32]


def read_screens(folders: Iterable[Path], split: str = "") -> list[Screen]:
    """Returns the screens of ``screens.jsonl`` files, of one split or of all.

    A last line that is still being written is left out.
    """
    lines = (
        (folder, line)
        for folder in folders
        for line in (folder / "screens.jsonl").read_text("utf-8").splitlines(keepends=True)
    )
    rows = [(folder, json.loads(line)) for folder, line in lines if line.endswith("\n")]
    return [_read_screen(folder, row) for folder, row in rows if split in ("", row["split"])]


def _read_screen(folder: Path, row: dict[str, Any]) -> Screen:
    rows = [entry for entry in row["boxes"] if entry["role"] in ROLES]
    states = [[name in entry["states"] for name in STATES] for entry in rows]
    return Screen(
        folder / row["file"],
        row["source"],
        row["split"],
        np.array([ROLES.index(entry["role"]) for entry in rows], np.int64),
        np.array([entry["box"] for entry in rows], np.float32).reshape(-1, 4),
        np.array(states, np.float32).reshape(-1, len(STATES)),
    )


def open_pixels(screen: Screen, cache: Path) -> NDArray[np.uint8]:
    """Returns the pixels of a screen; decoded on first use, and mapped from ``cache`` later."""
    key = f"{screen.path} {screen.path.stat().st_mtime_ns}"
    name = hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
    path = cache / f"{name}.npy"
    if not path.exists():
        with Image.open(screen.path) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        part = path.with_suffix(".part.npy")
        np.save(part, pixels)
        part.replace(path)
    return np.asarray(np.load(path, mmap_mode="r"))


def make_batches(
    folders: Sequence[Path], cache: Path, *, seed: int, apart: Sequence[str] = ()
) -> Iterator[Batch]:
    """Yields batches of disturbed crops of training screens without end.

    Args:
        folders: folders in the shared format.
        cache: a folder for decoded pictures.
        seed: of all that is drawn.
        apart: sources that are not trained on.
    """
    draws = random.Random(seed)
    screens = _draw_screens(
        [s for s in read_screens(folders, "train") if s.source not in apart and len(s.boxes)], draws
    )
    for size, count in itertools.cycle(_SHAPES):
        examples = [
            _cut_example(screen, open_pixels(screen, cache), role, size, draws)
            for screen, role in itertools.islice(screens, count)
        ]
        yield Batch(*map(np.stack, zip(*examples, strict=True)))


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
    screen: Screen,
    pixels: NDArray[np.uint8],
    role: int | None,
    size: tuple[int, int],
    draws: random.Random,
) -> tuple[NDArray[Any], ...]:
    """Returns a crop and its maps, at a drawn scale, around a thing of a role if there is one."""
    height, width = pixels.shape[:2]
    least = max(_SCALES[0], 0.8 * size[0] / width)  # a crop may be a quarter wider than the screen
    scale = math.exp(draws.uniform(math.log(least), math.log(_SCALES[1])))
    wide, tall = size[0] / scale, size[1] / scale
    x, y = draws.uniform(0, width), draws.uniform(0, height)
    if role is not None:
        box = screen.boxes[draws.choice(np.flatnonzero(screen.roles == role).tolist())]
        x, y = (box[:2] + box[2:]) / 2
        x, y = x + draws.uniform(-0.4, 0.4) * wide, y + draws.uniform(-0.4, 0.4) * tall
    left = min(max(0.0, float(x) - wide / 2), max(0.0, width - wide))
    top = min(max(0.0, float(y) - tall / 2), max(0.0, height - tall))
    crop = _resize(pixels, (left, top, left + wide, top + tall), size, draws)
    boxes = (screen.boxes - np.array([left, top, left, top], np.float32)) * scale
    clipped = np.clip(boxes, 0, np.array(size * 2, np.float32))
    sides = clipped[:, 2:] - clipped[:, :2]
    share = sides.prod(1) / np.maximum((boxes[:, 2:] - boxes[:, :2]).prod(1), 1e-6)
    stays = (share >= _LEAST_SHARE) & (sides.min(1, initial=1e9) >= _LEAST_SIDE)
    maps = draw_maps(clipped[stays], screen.roles[stays], screen.states[stays], size)
    return np.array(_disturb(crop, draws)), *maps


def _resize(
    pixels: NDArray[np.uint8],
    box: tuple[float, float, float, float],
    size: tuple[int, int],
    draws: random.Random,
) -> Image.Image:
    """Returns the part of a picture inside ``box`` at a size; a plain colour lies beyond it."""
    height, width = pixels.shape[:2]
    left, top, right, bottom = box[0], box[1], min(box[2], width), min(box[3], height)
    scale = size[0] / (box[2] - box[0])
    inner = min(size[0], round((right - left) * scale)), min(size[1], round((bottom - top) * scale))
    x, y = int(left), int(top)
    part = Image.fromarray(pixels[y : math.ceil(bottom), x : math.ceil(right)])
    method = draws.choice(_FILTERS)
    scaled = part.resize(inner, method, (left - x, top - y, right - x, bottom - y))
    crop = Image.new("RGB", size, tuple(draws.randrange(256) for _ in range(3)))
    crop.paste(scaled, (0, 0))
    return crop


def _disturb(crop: Image.Image, draws: random.Random) -> Image.Image:
    """Returns a crop with other colours, and traces of blur and compression."""
    chance = draws.random
    for enhance in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
        if chance() < 0.3:
            crop = enhance(crop).enhance(draws.uniform(0.6, 1.3))
    if chance() < 0.12:
        crop = ImageOps.invert(crop)
    if chance() < 0.15:
        crop = Image.merge("RGB", draws.sample(crop.split(), 3))
    if chance() < 0.1:
        crop = crop.filter(ImageFilter.GaussianBlur(draws.uniform(0.3, 0.9)))
    if chance() < 0.3:
        file = io.BytesIO()
        crop.save(file, "JPEG", quality=draws.randint(30, 95), subsampling=draws.choice((0, 2)))
        crop = Image.open(file).convert("RGB")
    return crop


def draw_maps(
    boxes: NDArray[np.float32],
    roles: NDArray[np.int64],
    states: NDArray[np.float32],
    size: tuple[int, int],
) -> tuple[NDArray[np.float32], ...]:
    """Returns the maps heat, sides, weights and states for things; smaller ones lie on top.

    Args:
        boxes: [n, 4] in pixels, inside the picture.
        roles: their places in `ROLES`.
        states: 0 or 1 [n, states].
        size: width and height of the picture in pixels.
    """
    width, height = size[0] // STRIDE, size[1] // STRIDE
    heat = np.zeros((len(ROLES) + 1, height, width), np.float32)
    sides = np.zeros((2, 4, height, width), np.float32)
    weights = np.zeros((2, height, width), np.float32)
    state_map = np.zeros((len(STATES), height, width), np.float32)
    for at in np.argsort(-(boxes[:, 2:] - boxes[:, :2]).prod(1)):
        left, top, right, bottom = map(float, boxes[at])
        columns, across = _draw_bump(left, right, width)
        rows, down = _draw_bump(top, bottom, height)
        patch, bump = (slice(*rows), slice(*columns)), down[:, None] * across
        group = int(ROLES[roles[at]] in OUTER_ROLES)
        for channel in (roles[at], len(ROLES)):
            np.maximum(heat[channel][patch], bump, out=heat[channel][patch])
        x = (np.arange(*columns, dtype=np.float32) + 0.5) * STRIDE
        y = (np.arange(*rows, dtype=np.float32)[:, None] + 0.5) * STRIDE
        for side, distance in enumerate((x - left, y - top, right - x, bottom - y)):
            sides[group, side][patch] = np.log(np.maximum(distance, 0.5))
        weights[group][patch] = bump / bump.sum()
        state_map[(slice(None), *patch)] = states[at][:, None, None]
    return heat, sides, weights, state_map


def _draw_bump(low: float, high: float, cells: int) -> tuple[tuple[int, int], NDArray[np.float32]]:
    """Returns the range of cells around the middle of an interval, and values from 0 to 1 there."""
    centre = min(cells - 1, int((low + high) / 2 / STRIDE))
    extent = (high - low) / STRIDE
    reach = int(extent / 2 * 0.54)
    first, last = max(0, centre - reach), min(cells, centre + reach + 1)
    spread = max((2 * reach + 1) / 6, _SPREAD * extent)
    offsets = np.arange(first, last) - centre
    return (first, last), np.exp(-(offsets**2) / (2 * spread**2)).astype(np.float32)
