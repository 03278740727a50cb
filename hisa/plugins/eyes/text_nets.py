"""PP-OCR's two nets in ONNX Runtime: one marks where text is, one reads the picture of a line.

The package ``rapidocr`` holds them; its code, which needs OpenCV, is not used.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hisa.machine.parts import install_command, list_missing
from hisa.screen.ocr import OcrUnavailable

__all__ = ["Letter", "Pixels", "Reading", "TextNets", "can_read", "open_nets"]

Pixels = NDArray[np.uint8]

_FINDER, _READER = "PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx"
_GRID = 32
"""The sides of what the net gets are multiples of this."""
_HEIGHT, _LEAST_WIDTH, _COLUMN = 48, 48, 8
"""Pixels of a line's picture as the net gets it, and of the columns for which it answers."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A character; ``place`` is its middle as a share of the picture's width."""

    text: str
    place: float
    confidence: float


@dataclass(frozen=True)
class Reading:
    """The letters and blanks that the net reads on the picture of a line, from left to right."""

    letters: tuple[Letter, ...]

    @property
    def text(self) -> str:
        """The letters in a row."""
        return "".join(letter.text for letter in self.letters).strip()

    @property
    def confidence(self) -> float:
        """The mean of the letters' confidences; 0 without letters."""
        return sum(letter.confidence for letter in self.letters) / max(len(self.letters), 1)


class TextNets:
    """The two nets, loaded; may be used by several threads.

    Args:
        folder: the folder of the ONNX files.
    """

    def __init__(self, folder: Path) -> None:
        self._finder = _open_session(folder / _FINDER)
        self._reader = _open_session(folder / _READER)
        listing = self._reader.get_modelmeta().custom_metadata_map["character"]
        self._characters = ("", *listing.splitlines(), " ")

    def mark(self, pixels: Pixels) -> Pixels:
        """Returns the chance of text in every pixel of a picture, as 0 to 255."""
        height, width = pixels.shape[:2]
        if (pixels == pixels[0, 0]).all():
            return np.zeros((height, width), dtype=np.uint8)
        below, beside = -height % _GRID, -width % _GRID
        canvas = np.pad(pixels, ((0, below), (0, beside), (0, 0)), mode="edge")
        (chances,) = self._finder.run(None, {"x": _normalise(canvas)[np.newaxis]})
        marks: Pixels = np.round(chances[0, 0, :height, :width] * 255).astype(np.uint8)
        return marks

    def read(self, crop: Image.Image) -> Reading:
        """Returns the letters on the picture of a line."""
        width = max(1, math.ceil(_HEIGHT * crop.width / crop.height))
        line = crop.resize((width, _HEIGHT), Image.Resampling.BILINEAR)
        pixels = np.zeros((1, 3, _HEIGHT, max(width, _LEAST_WIDTH)), dtype=np.float32)
        pixels[0, :, :, :width] = _normalise(np.asarray(line))
        (chances,) = self._reader.run(None, {"x": pixels})
        best, sure = chances[0].argmax(axis=1), chances[0].max(axis=1)
        fresh = (best != 0) & np.concatenate(([True], best[1:] != best[:-1]))
        return Reading(
            tuple(
                Letter(
                    self._characters[best[at]],
                    (at + 0.5) * _COLUMN / width,
                    round(float(sure[at]), 3),
                )
                for at in np.flatnonzero(fresh)
            )
        )


def _find_models() -> Path | None:
    """Returns the folder of the nets; None: they are not installed."""
    spec = importlib.util.find_spec("rapidocr")
    for folder in (spec and spec.submodule_search_locations) or ():
        models = Path(folder) / "models"
        if all((models / name).is_file() for name in (_FINDER, _READER)):
            return models
    return None


def can_read() -> bool:
    """Whether the nets and ONNX Runtime are installed; loads neither."""
    return not list_missing("eyes") and _find_models() is not None


@cache
def open_nets() -> TextNets:
    """Returns the nets, loaded once.

    Raises:
        OcrUnavailable: they are not installed.
    """
    lacking = list_missing("eyes")
    folder = None if lacking else _find_models()
    if folder is None:
        names = " and ".join(lacking) or f"rapidocr with {_READER}"
        raise OcrUnavailable(f"not installed: {names}", fix=install_command("eyes"))
    return TextNets(folder)


def _open_session(path: Path) -> Any:
    """Returns an ONNX session that runs in the thread that calls it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # sizes differ from call to call
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _normalise(pixels: Pixels) -> NDArray[np.float32]:
    """Returns blue, green and red as planes from -1 to 1, as the nets were trained."""
    planes = pixels[:, :, ::-1].transpose(2, 0, 1).astype(np.float32)
    return planes / np.float32(127.5) - np.float32(1)
