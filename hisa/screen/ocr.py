"""Reads the text on a screenshot with the first reader of ``hisa.lists`` that is installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hisa.errors import OperatorError, PluginFailed
from hisa.machine import plugins
from hisa.machine.parts import install_command
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot

__all__ = ["Line", "OcrUnavailable", "ReadText", "Word", "available", "read_text"]

MIN_CONFIDENCE = 0.3
"""Words with less confidence are mostly icons read as letters."""
_BETWEEN_IDEOGRAPHS = re.compile(
    r"(?<=[\u3040-\u30ff\u3400-\u9fff]) (?=[\u3040-\u30ff\u3400-\u9fff])"
)
"""Chinese and Japanese have no blanks between words."""


class OcrUnavailable(OperatorError):
    """There is no reader of text, or it is not installed, took too long or failed."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Word:
    """A word; ``box`` is in pixels of the whole screenshot, ``confidence`` is 0..1."""

    text: str
    box: BoundingBox
    confidence: float


@dataclass(frozen=True)
class Line:
    """Words side by side; a wide gap begins another line."""

    words: tuple[Word, ...]

    @cached_property
    def text(self) -> str:
        """The words with single blanks between them, if the script has blanks."""
        return _BETWEEN_IDEOGRAPHS.sub("", " ".join(word.text for word in self.words))

    @cached_property
    def box(self) -> BoundingBox:
        """The box around all words."""
        boxes = [word.box for word in self.words]
        return BoundingBox(
            min(box.left for box in boxes),
            min(box.top for box in boxes),
            max(box.right for box in boxes),
            max(box.bottom for box in boxes),
        )


ReadText = Callable[[Screenshot, BoundingBox | None], tuple[Line, ...]]
"""Reads a picture or, with a box, a part of it, as `read_text` does; raises `OcrUnavailable`."""


def available() -> bool:
    """Whether an announced reader has what it needs."""
    try:
        with _reader():
            return True
    except OcrUnavailable:
        return False


def read_text(
    screenshot: Screenshot, box: BoundingBox | None = None, *, least: float = MIN_CONFIDENCE
) -> tuple[Line, ...]:
    """Returns the lines of text, from top to bottom.

    Takes about 0.4 s at 1280x720: call it from a thread. If a picture was scaled down to fit, the
    full one is read. The same picture is read once. Boxes are in pixels of the whole screenshot.

    Args:
        screenshot: the picture to read.
        box: the only part to read, in the screenshot's pixels; None: all of it.
        least: least confidence of a word, 0..1; 0 includes words that the reader guessed.

    Raises:
        OcrUnavailable: no announced reader is installed, or it is too slow or broken.
    """
    full = screenshot.full
    part = box if box is None else screenshot.box_on(full, box)
    with _reader() as reader:
        lines: tuple[Line, ...] = reader.read_text(full, part, least=least)
    if full is screenshot:
        return lines
    moved = [[replace(w, box=full.box_on(screenshot, w.box)) for w in line.words] for line in lines]
    return tuple(Line(tuple(words)) for words in moved)


@contextmanager
def _reader() -> Iterator[Any]:
    """Yields the first announced `hisa.grounder.base.TextReader` that has what it needs.

    Packages go before HiSA's own; among these, the last by name: PP-OCR before tesseract.

    Raises:
        OcrUnavailable: there is none, or its package failed.
    """
    announced = False
    try:
        for point in reversed(plugins.points("lists")):
            if point != plugins.find("lists", point.name) or plugins.is_left_out(point):
                continue  # HiSA's own part has this name, or its plugin is not here
            part = plugins.load("lists", point)
            if not hasattr(part, "read_text"):
                continue
            announced = True
            with plugins.blaming_package("lists", point):
                if part.available():
                    yield part
                    return
    except PluginFailed as error:
        raise OcrUnavailable(str(error), fix="hisa doctor") from error
    if announced:
        raise OcrUnavailable("no reader of text is installed", fix=install_command("eyes"))
    raise OcrUnavailable(
        "no installed package announces a reader of text in hisa.lists", fix="hisa doctor"
    )
