"""The metric over pictures: whether both have the same share of each brightness."""

from __future__ import annotations

from typing import Any

from PIL import Image, UnidentifiedImageError

from hisa.plugins.benchmarks.tasks.metric import (
    Options,
    Score,
    Unreadable,
    as_path,
    metric,
    verdict,
)

__all__: list[str] = []

_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Formats that are read; for some others, Pillow would start another program."""
_MAX_PIXELS = 50_000_000  # chosen by hand


def _colours(path: Any) -> Image.Image:
    try:
        with Image.open(as_path(path), formats=_FORMATS) as file:
            if file.width * file.height > _MAX_PIXELS:
                raise Unreadable(f"{path.name}: more than {_MAX_PIXELS} pixels")
            return file.convert("RGB")
    except (UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise Unreadable(f"{path.name}: no picture of {', '.join(_FORMATS)}") from error


@metric("compare_jupyterlab_images", read_result=_colours, read_expected=_colours)
def compare_jupyterlab_images(result: Any, expected: Any, options: Options) -> Score:
    """Checks that two pictures have exactly the same scaled histogram of green.

    Args:
        result: the agent's picture.
        expected: the picture to compare it with.
        options: none are used.
    """
    first, second = _counts(result, expected)
    return verdict(
        bool((first == second).all()), "the same", "the shares of some brightness differ"
    )


def _counts(first: Image.Image, second: Image.Image) -> list[Any]:
    """Returns two histograms of green, scaled to 0 to 1; the wider picture is narrowed first."""
    import numpy as np

    if first.size > second.size:
        first = _narrow_picture(first, second.width)
    else:
        second = _narrow_picture(second, first.width)
    histograms = []
    for picture in (first, second):
        counts = np.array(picture.getchannel("G").histogram(), np.float64)
        spread = counts.max() - counts.min()
        histograms.append((counts - counts.min()) / spread if spread else counts)
    return histograms


def _narrow_picture(picture: Image.Image, width: int) -> Image.Image:
    """Returns a picture of that width, each pixel mixed from only the four around its place.

    Pillow's ``resize`` also takes in every pixel that is dropped, which mixes more colours.
    """
    if picture.width == width:
        return picture
    height = max(1, picture.height * width // picture.width)
    scale = (picture.width / width, 0, 0, 0, picture.height / height, 0)
    mixed = Image.Resampling.BILINEAR
    return picture.transform((width, height), Image.Transform.AFFINE, scale, mixed)
