"""Reads the text on a screenshot with the tesseract program: ``text`` of ``hisa.lists``."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import groupby
from statistics import median

import numpy as np
from PIL import Image

from hisa.machine.parts import as_root
from hisa.machine.patience import patience
from hisa.screen.geometry import BoundingBox, shift_box
from hisa.screen.observation import Screenshot
from hisa.screen.ocr import Line, OcrUnavailable, Word
from hisa.screen.text_gaps import EDGE, split_at_gaps

__all__ = ["TEXT"]

PROGRAM = "tesseract"
TIME_LIMIT = 20.0
"""Seconds for one picture on an idle machine."""
_ENLARGE_BELOW = 1920 * 1080
"""Pictures up to this area are doubled: screen text is smaller than what tesseract reads well."""
_ENLARGE_SMALL = 3840 * 2160
"""Larger ones up to this area are doubled where their text is small; beyond, time runs out."""
_SMALL_TEXT = 12
"""Pixels of height. Of words drawn at 10 to 12 pixels, 63 of 90 are read as they are, and all at
twice their size; at 14 and 16 pixels all 60 are read as they are."""
_SPARSE_TEXT = "11"
"""Tesseract's page mode for scattered text; whole-page modes drop parts of dialogs."""
_STEM = 8
"""Rows, times one more than its pixels of width, of an upright line that is no letter's: of faces
with stems of 1 and 2 pixels, up to 13 and 26 pixels large, an "l" is 10 and 20 rows high."""
_CACHE_SIZE = 32  # chosen by hand
_MOST_LANGUAGES = 4
"""Each further one takes about a third longer; of more than these, only English is read."""


@cache
def languages() -> str:
    """Returns all languages that tesseract has, in its own notation, English first."""
    try:
        listing = subprocess.run(
            [PROGRAM, "--list-langs"], capture_output=True, text=True, timeout=patience(TIME_LIMIT)
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "eng"  # reading will tell what is wrong
    return _choose_languages(listing.splitlines()[1:])


def _choose_languages(installed: Iterable[str]) -> str:
    others = sorted({name.strip() for name in installed} - {"", "eng", "osd", "equ"})
    plain = [name for name in others if re.fullmatch(r"\w+", name)]
    return "+".join(("eng", *plain)) if len(plain) < _MOST_LANGUAGES else "eng"


class Tesseract:
    """See `hisa.grounder.base.TextReader`; the same picture is read once."""

    def available(self) -> bool:
        """Whether the program is installed."""
        return shutil.which(PROGRAM) is not None

    def read_text(
        self, screenshot: Screenshot, box: BoundingBox | None, *, least: float
    ) -> tuple[Line, ...]:
        """Returns the lines on a picture; see `hisa.screen.ocr.read_text`.

        Args:
            screenshot: the picture.
            box: the part to read, in pixels of the picture; None: all of it.
            least: least confidence of a word, 0 to 1.
        """
        full = BoundingBox(0, 0, screenshot.size.width, screenshot.size.height)
        part = full if box is None else BoundingBox(box.left, box.top, box.right, box.bottom)
        clipped = part.intersection(full)
        if clipped is None or clipped.width < 1 or clipped.height < 1:
            return ()
        corners = (int(clipped.left), int(clipped.top), int(clipped.right), int(clipped.bottom))
        pixels = screenshot.pixels.convert("L").crop(corners)
        key = (
            hashlib.blake2b(pixels.tobytes(), digest_size=16).digest()
            + repr((corners, least)).encode()
        )
        lines = _cache.get(key)
        if lines is None:
            lines = _read(pixels, corners, least)
            _cache.put(key, lines)
        return lines


TEXT = Tesseract()


class _Cache:
    """The last pictures read, shared by threads."""

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, tuple[Line, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> tuple[Line, ...] | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: bytes, lines: tuple[Line, ...]) -> None:
        with self._lock:
            self._entries[key] = lines
            while len(self._entries) > _CACHE_SIZE:
                self._entries.popitem(last=False)


_cache = _Cache()


def _read(pixels: Image.Image, corners: tuple[int, ...], least: float) -> tuple[Line, ...]:
    """The lines of a grey picture; its upper left corner lies at the first two of ``corners``."""
    area = pixels.width * pixels.height
    lines = _lines(pixels, 2 if area <= _ENLARGE_BELOW else 1, least)
    heights = [word.box.height for line in lines for word in line.words]
    if heights and _ENLARGE_BELOW < area <= _ENLARGE_SMALL and median(heights) < _SMALL_TEXT:
        lines = _lines(pixels, 2, least)
    moved = [[replace(w, box=shift_box(w.box, *corners[:2])) for w in line.words] for line in lines]
    return tuple(Line(tuple(words)) for words in moved)


def _without_borders(pixels: Image.Image) -> Image.Image:
    """The picture without the upright lines that are longer than a letter as thin as they are.

    Tesseract reads the sides of buttons, fields and cells as letters, and what they part as one.
    """
    plain = np.asarray(pixels, dtype=np.int16).copy()
    for width in (1, 2):
        left, inside = plain[:, : -width - 1], plain[:, 1:-width]
        right, last = plain[:, width + 1 :], plain[:, width:-1]
        steps = np.minimum(inside - left, last - right), np.minimum(left - inside, right - last)
        thin = (np.maximum(*steps) >= EDGE) & (np.abs(right - left) < 2 * EDGE)
        sums = np.zeros((thin.shape[0] + 1, thin.shape[1]), dtype=np.int32)
        np.cumsum(thin, axis=0, out=sums[1:])
        rows = (width + 1) * _STEM
        begins = sums[rows:] - sums[:-rows] == rows
        line = np.zeros_like(thin)
        for at in range(rows):
            line[at : at + len(begins)] |= begins
        for at in range(width):
            plain[:, 1 + at : plain.shape[1] - width + at][line] = left[line]
    return Image.fromarray(plain.astype(np.uint8))


def _recognise(pixels: Image.Image, scale: int) -> str:
    """Tesseract's table of a picture that is enlarged first."""
    pixels = _without_borders(pixels)
    if scale > 1:
        larger = (pixels.width * scale, pixels.height * scale)
        pixels = pixels.resize(larger, Image.Resampling.BICUBIC)
    buffer = io.BytesIO()
    pixels.save(buffer, "PPM")
    command = [PROGRAM, "stdin", "stdout", "--psm", _SPARSE_TEXT, "-l", languages(), "tsv"]
    # One thread: more of them cost time on pictures of this size.
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    limit = patience(TIME_LIMIT)
    try:
        process = subprocess.run(
            command,
            input=buffer.getvalue(),
            capture_output=True,
            timeout=limit,
            env=environment,
            check=True,
        )
    except FileNotFoundError as error:
        raise OcrUnavailable(
            f"{PROGRAM} is not installed", fix=as_root("apt-get install tesseract-ocr")
        ) from error
    except subprocess.TimeoutExpired as error:
        raise OcrUnavailable(f"{PROGRAM} took longer than {limit:.0f} s") from error
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode("utf-8", "replace").strip()[-200:]
        raise OcrUnavailable(
            f"{PROGRAM} ended with {error.returncode}: {message}",
            fix=as_root("apt-get install --reinstall tesseract-ocr tesseract-ocr-eng"),
        ) from error
    return process.stdout.decode("utf-8", "replace")


def _lines(pixels: Image.Image, scale: int, least: float) -> list[Line]:
    """Lines of a picture, by height on it."""
    rows = [row.split("\t") for row in _recognise(pixels, scale).splitlines()[1:]]
    rows = [row for row in rows if len(row) == 12 and row[11].strip()]
    lines: list[Line] = []
    for _, group in groupby(rows, key=lambda row: row[1:5]):
        words = [_word(row, scale) for row in group]
        lines += split_at_gaps([word for word in words if word.confidence >= least], pixels)
    return sorted(lines, key=lambda line: (line.box.top, line.box.left))


def _word(row: list[str], scale: int) -> Word:
    x, y, width, height = (int(cell) / scale for cell in row[6:10])
    return Word(row[11].strip(), BoundingBox(x, y, x + width, y + height), float(row[10]) / 100)
