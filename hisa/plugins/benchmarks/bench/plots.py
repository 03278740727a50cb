"""Plots as inline SVG: bars with intervals, stacked bars, and curves.

A picture is 360 units wide, so that its texts are as large on a phone as around it; colours come
from the page's classes ``s0`` to ``s5``. All texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = ["Bar", "Series", "bars", "curves", "ticks"]

WIDTH = 360  # chosen by hand
_ROW = 34  # chosen by hand
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 8, 30


@dataclass(frozen=True)
class Bar:
    """A row: parts one after the other, a text behind them, and an interval over them."""

    label: str
    parts: tuple[tuple[float, str], ...]
    """Values with their classes."""
    text: str
    low: float | None = None
    high: float | None = None

    @property
    def end(self) -> float:
        """The largest value drawn."""
        return max(sum(value for value, _ in self.parts), self.high or 0.0)


@dataclass(frozen=True)
class Series:
    """A curve over the steps from 1."""

    name: str
    values: Sequence[float]
    style: str
    dashed: bool = False


def bars(rows: Sequence[Bar], *, most: float | None = None) -> Markup:
    """Horizontal bars, one a row, its label above it."""
    limit = most or max((row.end for row in rows), default=0.0) or 1.0
    scale = (WIDTH - 8) / limit
    body = Markup().join(_bar(row, number * _ROW, scale) for number, row in enumerate(rows))
    height = max(1, len(rows)) * _ROW
    return _svg(height, body)


def _bar(row: Bar, top: float, scale: float) -> Markup:
    drawn, left = Markup(), 0.0
    for value, style in row.parts:
        drawn += Markup(
            '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="12" rx="2"/>'
        ).format(style, left, top + 17, max(0.0, value * scale))
        left += value * scale
    if row.low is not None and row.high is not None:
        low, high, middle = row.low * scale, row.high * scale, top + 23
        drawn += Markup(
            '<path class="whisker" d="M{0:.1f} {2}H{1:.1f}M{0:.1f} {3}v8M{1:.1f} {3}v8"/>'
        ).format(low, high, middle, middle - 4)
    return Markup(
        '<g><text x="0" y="{}">{}</text><text class="value" x="{}" y="{}">{}</text>{}</g>'
    ).format(top + 12, _cut(row.label, 34), WIDTH, top + 12, row.text, drawn)


def curves(series: Sequence[Series], *, show: Callable[[float], str], x_label: str) -> Markup:
    """Curves over steps, with an axis on the left and one below.

    Args:
        series: at least one with values.
        show: writes a value of the left axis.
        x_label: what the lower axis counts.
    """
    most = max((max(each.values) for each in series if each.values), default=0.0)
    longest = max((len(each.values) for each in series), default=1)
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
    while len(steps) > 2 and steps[-1] - steps[-2] < longest / 12:
        del steps[-2]
    below = Markup().join(
        Markup('<text class="axis mid" x="{:.1f}" y="{}">{}</text>').format(
            _LEFT + (step - 1) * across, _TOP + height + 14, step
        )
        for step in steps
    )
    lines = Markup().join(_line(each, across, y) for each in series if each.values)
    label = Markup('<text class="axis end" x="{}" y="{}">{}</text>').format(
        WIDTH - _RIGHT, _TOP + height + 27, x_label
    )
    return _svg(_TOP + height + _BOTTOM, grid + below + label + lines)


def _line(series: Series, across: float, y: Callable[[float], float]) -> Markup:
    points = [(_LEFT + at * across, y(value)) for at, value in enumerate(series.values)]
    path = " ".join(f"{x:.1f},{height:.1f}" for x, height in points)
    dots = Markup()
    if len(points) <= 30:
        dots = Markup().join(
            Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="2.2"/>').format(
                series.style, x, height
            )
            for x, height in points
        )
    return (
        Markup('<polyline class="line {}{}" points="{}"/>').format(
            series.style, " dashed" if series.dashed else "", path
        )
        + dots
    )


def ticks(most: float, count: int = 4) -> list[float]:
    """About ``count`` round marks from 0 to at least ``most``."""
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


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
