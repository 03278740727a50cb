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
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from PIL import Image

from hisa.machine.parts import as_root
from hisa.machine.patience import patience
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Screenshot
from hisa.screen.ocr import Line, OcrUnavailable, Word

__all__ = ["TEXT"]

PROGRAM = "tesseract"
TIME_LIMIT = 20.0
"""Seconds for one picture on an idle machine."""
_ENLARGE_BELOW = 1920 * 1080
"""Pictures up to this area are doubled: screen text is smaller than what tesseract reads well."""
_SPARSE_TEXT = "11"
"""Tesseract's page mode for scattered text; whole-page modes drop parts of dialogs."""
_MIN_GAP = 8
"""Pixels that may lie between two words of a line, however flat they were read."""
_CACHE_SIZE = 32  # chosen by hand
_MOST_LANGUAGES = 4
"""Each further one takes about a third longer; of more than these, only English is read."""


@cache
def languages() -> str:
    """Returns all languages that tesseract has, in its own notation, English first."""
    try:
        told = subprocess.run(
            [PROGRAM, "--list-langs"], capture_output=True, text=True, timeout=patience(TIME_LIMIT)
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "eng"  # reading will tell what is wrong
    return _chosen(told.splitlines()[1:])


def _chosen(installed: Iterable[str]) -> str:
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
        """See `hisa.screen.ocr.read_text`."""
        whole = BoundingBox(0, 0, screenshot.size.width, screenshot.size.height)
        part = whole if box is None else BoundingBox(box.left, box.top, box.right, box.bottom)
        clipped = part.intersection(whole)
        if clipped is None or clipped.width < 1 or clipped.height < 1:
            return ()
        corners = (int(clipped.left), int(clipped.top), int(clipped.right), int(clipped.bottom))
        pixels = screenshot.pixels.convert("L").crop(corners)
        key = (
            hashlib.blake2b(pixels.tobytes(), digest_size=16).digest()
            + repr((corners, least)).encode()
        )
        found = _cache.get(key)
        if found is None:
            found = tuple(_lines(_recognise(pixels), corners[0], corners[1], least))
            _cache.put(key, found)
        return found


TEXT = Tesseract()


class _Cache:
    """The last pictures read, shared by threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, tuple[Line, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> tuple[Line, ...] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: bytes, lines: tuple[Line, ...]) -> None:
        with self._lock:
            self._kept[key] = lines
            while len(self._kept) > _CACHE_SIZE:
                self._kept.popitem(last=False)


_cache = _Cache()


@dataclass(frozen=True, slots=True)
class _Recognised:
    table: str
    scale: int


def _scale(size: Size) -> int:
    return 2 if size.width * size.height <= _ENLARGE_BELOW else 1


def _recognise(pixels: Image.Image) -> _Recognised:
    scale = _scale(Size(*pixels.size))
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
        done = subprocess.run(
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
        said = error.stderr.decode("utf-8", "replace").strip()[-200:]
        raise OcrUnavailable(
            f"{PROGRAM} ended with {error.returncode}: {said}",
            fix=as_root("apt-get install --reinstall tesseract-ocr tesseract-ocr-eng"),
        ) from error
    return _Recognised(done.stdout.decode("utf-8", "replace"), scale)


def _lines(recognised: _Recognised, left: int, top: int, least: float) -> Iterable[Line]:
    """Lines of tesseract's table, by height on the screen."""
    rows = [row.split("\t") for row in recognised.table.splitlines()[1:]]
    rows = [row for row in rows if len(row) == 12 and row[11].strip()]
    lines: list[Line] = []
    for _, group in groupby(rows, key=lambda row: row[1:5]):
        words = [_word(row, recognised.scale, left, top) for row in group]
        lines += _split([word for word in words if word.confidence >= least])
    return sorted(lines, key=lambda line: (line.box.top, line.box.left))


def _word(row: list[str], scale: int, left: int, top: int) -> Word:
    x, y, width, height = (int(cell) / scale for cell in row[6:10])
    box = BoundingBox(left + x, top + y, left + x + width, top + y + height)
    return Word(row[11].strip(), box, float(row[10]) / 100)


def _split(words: list[Word]) -> list[Line]:
    """Cut where the gap is wider than the words are high: neighbours in a menu, not a sentence."""
    runs: list[list[Word]] = []
    for word in words:
        last = runs[-1][-1].box if runs else None
        if last and word.box.left - last.right <= max(last.height, word.box.height, _MIN_GAP):
            runs[-1].append(word)
        else:
            runs.append([word])
    return [Line(tuple(run)) for run in runs]
