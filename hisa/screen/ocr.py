"""Reads the text on a screenshot with the tesseract program."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby

from PIL import Image

from hisa.errors import OperatorError
from hisa.machine.parts import as_root
from hisa.machine.patience import patience
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Screenshot

__all__ = ["Line", "OcrUnavailable", "ReadText", "Word", "available", "read_text"]

PROGRAM = "tesseract"
TIME_LIMIT = 20.0
"""Seconds for one picture on an idle machine."""
MIN_CONFIDENCE = 0.3
"""Words that tesseract is less sure of are mostly icons read as letters."""
_ENLARGE_BELOW = 1920 * 1080
"""Pictures up to this area are doubled: screen text is smaller than what tesseract reads well."""
_SPARSE_TEXT = "11"
"""Tesseract's page mode for scattered text; whole-page modes drop parts of dialogs."""
_MIN_GAP = 8
"""Pixels that may lie between two words of a line, however flat they were read."""
_CACHE_SIZE = 32  # chosen by hand
_MOST_LANGUAGES = 4
"""Each further one takes about a third longer; of more than these, only English is read."""
_BETWEEN_IDEOGRAPHS = re.compile(
    r"(?<=[\u3040-\u30ff\u3400-\u9fff]) (?=[\u3040-\u30ff\u3400-\u9fff])"
)
"""Chinese and Japanese have no blanks between words."""


class OcrUnavailable(OperatorError):
    """Tesseract is not installed, took too long or broke."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Word:
    """A word; ``box`` in the pixels of the whole screenshot, ``confidence`` 0..1."""

    text: str
    box: BoundingBox
    confidence: float


@dataclass(frozen=True)
class Line:
    """Words that stand side by side; a wide gap begins another line."""

    words: tuple[Word, ...]

    @cached_property
    def text(self) -> str:
        """The words with single blanks between them, where the script has blanks."""
        return _BETWEEN_IDEOGRAPHS.sub("", " ".join(word.text for word in self.words))

    @cached_property
    def box(self) -> BoundingBox:
        """The box around all words."""
        return _around(word.box for word in self.words)


ReadText = Callable[[Screenshot, BoundingBox | None], tuple[Line, ...]]
"""Reads a picture or, with a box, a part of it, as `read_text` does; raises `OcrUnavailable`."""


def available() -> bool:
    """Whether the program is installed."""
    return shutil.which(PROGRAM) is not None


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


def read_text(
    screenshot: Screenshot, box: BoundingBox | None = None, *, least: float = MIN_CONFIDENCE
) -> tuple[Line, ...]:
    """The lines of text, from top to bottom. Takes some 0.4 s at 1280x720: call it from a thread.

    The same picture is read once. Boxes are in pixels of the whole screenshot.

    Args:
        screenshot: where to read.
        box: read only this part, given in the screenshot's pixels.
        least: how sure tesseract has to be of a word; 0: words that it guesses too.

    Raises:
        OcrUnavailable: the program is absent, too slow or broken.
    """
    whole = BoundingBox(0, 0, screenshot.size.width, screenshot.size.height)
    part = whole if box is None else BoundingBox(box.left, box.top, box.right, box.bottom)
    clipped = part.intersection(whole)
    if clipped is None or clipped.width < 1 or clipped.height < 1:
        return ()
    corners = (int(clipped.left), int(clipped.top), int(clipped.right), int(clipped.bottom))
    pixels = screenshot.pixels.convert("L").crop(corners)
    key = (
        hashlib.blake2b(pixels.tobytes(), digest_size=16).digest() + repr((corners, least)).encode()
    )
    found = _cache.get(key)
    if found is None:
        found = tuple(_lines(_recognise(pixels), corners[0], corners[1], least))
        _cache.put(key, found)
    return found


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


def _around(boxes: Iterable[BoundingBox]) -> BoundingBox:
    every = list(boxes)
    return BoundingBox(
        min(box.left for box in every),
        min(box.top for box in every),
        max(box.right for box in every),
        max(box.bottom for box in every),
    )
