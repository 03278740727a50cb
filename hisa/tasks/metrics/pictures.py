"""Metrics over pictures: the same pixels, or the same share of each brightness."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, UnidentifiedImageError

from hisa.tasks.metrics.base import (
    BadRules,
    Options,
    Score,
    Unreadable,
    as_path,
    both_files,
    expecting,
    metric,
    reading,
    verdict,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Pixels = npt.NDArray[np.uint8]
    _Counts = npt.NDArray[np.float64]

__all__: list[str] = []

_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Read here; Pillow would start another program for some of the rest."""
_MAX_PIXELS = 50_000_000
_ALIKE = 0.91
"""Least correlation of two histograms of charts of Metabase, which come in any size."""


def _pixels(path: Path, mode: str = "RGB") -> _Pixels:
    """Rows, columns, channels."""
    import numpy as np

    try:
        with Image.open(path, formats=_FORMATS) as file:
            if file.width * file.height > _MAX_PIXELS:
                raise Unreadable(f"{path.name}: more than {_MAX_PIXELS} pixels")
            return np.asarray(file.convert(mode))
    except (UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise Unreadable(f"{path.name}: no picture of {', '.join(_FORMATS)}") from error


@metric("compare_image_list")
def compare_image_list(result: Any, expected: Any, options: Options) -> Score:
    """Each picture has the size and the pixels of the expected one in its place."""
    import numpy as np

    wanted = expected if isinstance(expected, list) else [expected]
    found = result if isinstance(result, list) else [result]
    if len(found) != len(wanted):
        raise BadRules(f"{len(found)} pictures, and {len(wanted)} to compare them with")
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        with expecting("expected file"):
            there = _pixels(as_path(other), "RGBA")
        if one is None:
            return 0.0, f"picture {number} is not there"
        with reading("result file"):
            if not np.array_equal(_pixels(as_path(one), "RGBA"), there):
                return 0.0, f"picture {number} differs"
    return 1.0, "equal"


@metric("compare_metabase_images")
@both_files(_pixels)
def compare_metabase_images(found: _Pixels, wanted: _Pixels, options: Options) -> Score:
    """The green of two pictures is spread alike, whatever their sizes."""
    one, other = (_counts(part) for part in _as_wide(found, wanted))
    alike = _correlation(one, other)
    return verdict(alike > _ALIKE, "alike", f"correlation {alike:.4f}, not above {_ALIKE}")


@metric("compare_jupyterlab_images")
@both_files(_pixels)
def compare_jupyterlab_images(found: _Pixels, wanted: _Pixels, options: Options) -> Score:
    """The green of two pictures is spread in exactly the same way."""
    import numpy as np

    one, other = (_counts(part) for part in _as_wide(found, wanted))
    return verdict(np.array_equal(one, other), "the same", "other shares of some brightness")


def _counts(pixels: _Pixels) -> _Counts:
    """How often each of the 256 values of green occurs, between 0 and 1."""
    import numpy as np

    counts = np.bincount(pixels[:, :, 1].ravel(), minlength=256).astype(np.float64)
    spread = counts.max() - counts.min()
    return (counts - counts.min()) / spread if spread else counts


def _correlation(one: _Counts, other: _Counts) -> float:
    import numpy as np

    if np.array_equal(one, other):
        return 1.0
    if not one.std() or not other.std():
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _as_wide(one: _Pixels, other: _Pixels) -> tuple[_Pixels, _Pixels]:
    """Both, the larger one made as wide as the smaller one."""
    if one.shape[1::-1] > other.shape[1::-1]:
        return _narrowed(one, other.shape[1]), other
    return one, _narrowed(other, one.shape[1])


def _narrowed(pixels: _Pixels, width: int) -> _Pixels:
    """At ``width``, each pixel mixed from the four around its place and no more.

    Pillow's own filters take in every pixel that falls away, which mixes more colours.
    """
    import numpy as np

    if pixels.shape[1] == width:
        return pixels
    height = max(1, pixels.shape[0] * width // pixels.shape[1])
    return _sampled(_sampled(pixels, height, 0), width, 1).round().astype(np.uint8)


def _sampled(pixels: npt.NDArray[Any], length: int, axis: int) -> npt.NDArray[Any]:
    """``length`` rows (axis 0) or columns (axis 1), each mixed from its two neighbours."""
    import numpy as np

    last = pixels.shape[axis] - 1
    place = ((np.arange(length) + 0.5) * (last + 1) / length - 0.5).clip(0, last)
    before = np.floor(place).astype(np.intp)
    share = (place - before).astype(np.float32)
    share = share.reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
    low, high = (np.take(pixels, at, axis) for at in (before, np.minimum(before + 1, last)))
    mixed: npt.NDArray[Any] = low * (1 - share) + high * share
    return mixed
