"""Measures the similarity of two pictures of the same place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hisa.screen.observation import Screenshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["compare_outlines", "is_same_drawing", "similarity"]

_WINDOW = 7
"""Side of the window in pixels, scikit-image's default; at most the side of the picture."""
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2
"""The constants of Wang et al., 2004, for 8 bits."""
_FAINT = 2.0
"""Grey levels per pixel by which outlines must vary in a window for it to count as drawn on; the
gradient of a button varies by less."""
_SAME_OUTLINES = 0.5
"""Least correlation of the outlines in such a window. Drawn by Chromium in other colours, the worst
window of 22 labels in 12 styles has 0.98; with a different label, even by one digit, at most
-0.04."""


def similarity(first: Screenshot, second: Screenshot) -> float:
    """Returns the mean structural similarity of two pictures in grey, at most 1.

    SSIM of Wang et al., 2004, with square, evenly weighted windows. 0 for pictures of different
    sizes.
    """
    import numpy as np

    if first.size != second.size:
        return 0.0
    x, y = (np.asarray(picture.pixels.convert("L"), np.float64) for picture in (first, second))
    side = min(_WINDOW, *x.shape)
    count = side * side
    mean_x, mean_y = _mean(x, side), _mean(y, side)
    unbiased = count / max(1, count - 1)
    var_x = unbiased * (_mean(x * x, side) - mean_x**2)
    var_y = unbiased * (_mean(y * y, side) - mean_y**2)
    both = unbiased * (_mean(x * y, side) - mean_x * mean_y)
    likeness = (2 * mean_x * mean_y + _C1) * (2 * both + _C2)
    return float((likeness / ((mean_x**2 + mean_y**2 + _C1) * (var_x + var_y + _C2))).mean())


def compare_outlines(first: Screenshot, second: Screenshot) -> float:
    """Returns the correlation of the outlines in two pictures, whatever their colours: -1..1.

    0 for pictures of different sizes.
    """
    import numpy as np

    greys = [np.asarray(picture.pixels.convert("L"), np.float64) for picture in (first, second)]
    if first.size != second.size or min(greys[0].shape) < 2:
        return 0.0
    x, y = (np.hypot(*np.gradient(grey)).ravel() for grey in greys)
    x, y = x - x.mean(), y - y.mean()
    if not (x.any() or y.any()):
        return 1.0
    length = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / length if length else 0.0


def is_same_drawing(
    first: Screenshot, second: Screenshot, at: tuple[float, float] | None = None
) -> bool:
    """Whether two pictures have the same outlines everywhere, whatever their colours.

    A straight line across the whole second picture is ignored in two cases: there is a drawing on
    both sides of it (a button that lights up separates its arrow from its picture), or it bounds
    a blank margin without the point ``at`` (the border of a tool tip). Two blank pictures are not
    the same drawing.

    Args:
        first: the earlier picture.
        second: the later picture, of the same place.
        at: the point that is pressed, in pixels of the pictures; None: not known.
    """
    import numpy as np

    if first.size != second.size or min(first.size.width, first.size.height) < 2:
        return False
    x, y = (_outlines(picture) for picture in (first, second))
    across, down = at or (None, None)
    part = _inside(y.T, x.T, down), _inside(y, x, across)
    x, y = x[part], y[part]
    if not x.size:
        return False
    y = _without_lines(_without_lines(y, x).T, x.T).T
    side = min(_WINDOW, *x.shape)
    mean_x, mean_y = _mean(x, side), _mean(y, side)
    var_x, var_y = _mean(x * x, side) - mean_x**2, _mean(y * y, side) - mean_y**2
    both = _mean(x * y, side) - mean_x * mean_y
    drawn = np.maximum(var_x, var_y) > _FAINT**2
    least = _SAME_OUTLINES * np.sqrt(np.maximum(var_x * var_y, 1e-9))
    return bool(drawn.any() and (both >= least)[drawn].all())


def _inside(outlines: NDArray[np.float64], before: NDArray[np.float64], at: float | None) -> slice:
    """Returns the columns between the upright lines that bound a blank margin on either side."""
    import numpy as np

    drawn, lines = _drawn_columns(outlines, before)
    if at is None or not drawn.size:
        return slice(None)
    left = lines[(lines <= drawn[0]) & (lines < at)]
    right = lines[(lines >= drawn[-1]) & (lines > at)]
    return slice(int(np.max(left + 1, initial=0)), int(np.min(right, initial=before.shape[1])))


def _without_lines(
    outlines: NDArray[np.float64], before: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns outlines without the upright lines that divide the earlier drawing."""
    import numpy as np

    drawn, lines = _drawn_columns(outlines, before)
    rest = outlines.copy()
    for column in lines[(lines > drawn[0]) & (lines < drawn[-1])] if drawn.size else ():
        rest[:, column] -= np.median(rest[:, column])
    return np.abs(rest)


def _drawn_columns(
    outlines: NDArray[np.float64], before: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the columns that had a drawing before, and those that have become upright lines."""
    import numpy as np

    lines = (outlines.min(axis=0) > _FAINT) & (before.min(axis=0) <= _FAINT)
    return np.flatnonzero(before.max(axis=0) > _FAINT), np.flatnonzero(lines)


def _outlines(picture: Screenshot) -> NDArray[np.float64]:
    """Returns the gradient at each pixel, that of the steepest of the three colours."""
    import numpy as np

    down, across = np.gradient(np.asarray(picture.pixels, np.float64), axis=(0, 1))
    steepest: NDArray[np.float64] = np.hypot(down, across).max(axis=2)
    return steepest


def _mean(values: NDArray[np.float64], side: int) -> NDArray[np.float64]:
    """Returns the mean of every ``side`` by ``side`` window inside the values."""
    import numpy as np

    sums = np.pad(values, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    totals = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    mean: NDArray[np.float64] = totals / (side * side)
    return mean
