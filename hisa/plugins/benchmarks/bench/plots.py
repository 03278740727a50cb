"""Curves over steps as inline SVG.

A picture is 360 units wide, so that on a phone its texts are as large as the page's; colours come
from the page's classes ``s0`` to ``s5``. All texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = ["Series", "curves", "ticks"]

WIDTH = 360  # chosen by hand
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 8, 30


@dataclass(frozen=True)
class Series:
    """A curve over the steps from 1."""

    name: str
    values: Sequence[float]
    style: str
    dashed: bool = False


def curves(series: Sequence[Series], *, show: Callable[[float], str], x_label: str) -> Markup:
    """Returns curves over steps as SVG, with an axis on the left and one below.

    Args:
        series: at least one with values.
        show: turns a value of the left axis into text.
        x_label: what the lower axis counts.
    """
    most = max((max(line.values) for line in series if line.values), default=0.0)
    longest = max((len(line.values) for line in series), default=1)
    marks = ticks(most)
    top, width, height = marks[-1] or 1.0, WIDTH - _LEFT - _RIGHT, 170
    across = width / max(1, longest - 1)

    def y(value: float) -> float:
        return _TOP + height * (1 - value / top)

    grid = Markup().join(
        Markup(
            '<path class="grid" d="M{} {:.1f}H{}"/>'
            '<text class="axis end" x="{}" y="{:.1f}">{}</text>'
        ).format(_LEFT, y(mark), WIDTH - _RIGHT, _LEFT - 6, y(mark) + 4, show(mark))
        for mark in marks
    )
    steps = sorted({1, longest, *(round(mark) for mark in ticks(longest) if 1 <= mark < longest)})
    below = Markup().join(
        Markup('<text class="axis mid" x="{:.1f}" y="{}">{}</text>').format(
            _LEFT + (step - 1) * across, _TOP + height + 14, step
        )
        for step in steps
    )
    lines = Markup().join(_line(line, across, y) for line in series if line.values)
    label = Markup('<text class="axis end" x="{}" y="{}">{}</text>').format(
        WIDTH - _RIGHT, _TOP + height + 27, x_label
    )
    return _svg(_TOP + height + _BOTTOM, grid + below + label + lines)


def _line(series: Series, across: float, y: Callable[[float], float]) -> Markup:
    points = [(_LEFT + at * across, y(value)) for at, value in enumerate(series.values)]
    path = " ".join(f"{x:.1f},{height:.1f}" for x, height in points)
    return Markup('<polyline class="line {}{}" points="{}"/>').format(
        series.style, " dashed" if series.dashed else "", path
    )


def ticks(most: float, count: int = 4) -> list[float]:
    """Returns about ``count`` round marks from 0 to at least ``most``."""
    if most <= 0 or not math.isfinite(most):
        return [0.0, 1.0]
    rough = most / count
    unit = 10 ** math.floor(math.log10(rough))
    step = next((m * unit for m in (1, 2, 2.5, 5) if m * unit >= rough), 10 * unit)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def _svg(height: float, body: Markup) -> Markup:
    return Markup('<svg viewBox="0 0 {} {:.0f}" aria-hidden="true">{}</svg>').format(
        WIDTH, height, body
    )
