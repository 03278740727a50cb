"""A measurement of a grounder as one page of HTML: its sums, and every miss on its picture.

The page loads nothing and has no script; its texts come from suites, screens and models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from hisa.plugins.benchmarks.bench.grounding.grounding_report import (
    GroundingReport,
    grounding_tables,
)
from hisa.plugins.benchmarks.bench.grounding.runner import Answer, Corners
from hisa.plugins.benchmarks.bench.grounding.targets import KINDS
from hisa.runs import wording
from hisa.runs.pictures import Picture, as_picture
from hisa.runs.templates import templates

if TYPE_CHECKING:
    import jinja2

__all__ = ["Miss", "miss_page"]

_HERE = Path(__file__).resolve().parent
_AROUND = 90
"""Pixels shown around what a picture is about."""
_LEAST = (420, 240)
"""Smallest width and height of a crop, in pixels."""
_WIDEST = 900
"""A crop is scaled down to this width."""
_SHOWN = 1000
"""Characters of a text."""


@dataclass(frozen=True)
class Mark:
    """A box on a crop, in percent of its sides."""

    style: str
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Miss:
    """An answer that was wrong or should not have been a refusal."""

    answer: Answer
    picture: Picture | None
    """None: the screen's picture could not be read again."""
    marks: tuple[Mark, ...]


def miss_page(
    report: GroundingReport, answers: Sequence[Answer], pictures: Mapping[str, Path]
) -> str:
    """The page.

    Args:
        report: the sums.
        answers: all answers; the misses are picked out.
        pictures: the picture's file of each screen.
    """
    from markupsafe import Markup

    groups: dict[tuple[str, str], list[Miss]] = {}
    for miss in _misses(answers, pictures):
        groups.setdefault((miss.answer.split, miss.answer.kind), []).append(miss)
    ordered = sorted(groups.items(), key=lambda item: (item[0][0] != "train", _rank(item[0][1])))
    return _template().render(
        report=report,
        tables=grounding_tables(report),
        groups=[(" ".join(key).strip(), misses) for key, misses in ordered],
        css=Markup((_HERE.parent / "report.css").read_text(encoding="utf-8")),
    )


def _rank(kind: str) -> tuple[int, str]:
    return KINDS.index(kind) if kind in KINDS else len(KINDS), kind


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = templates(_HERE)
    environment.filters["line"] = lambda text: wording.one_line(text, _SHOWN)
    return environment.get_template("page.html.j2")


def _misses(answers: Sequence[Answer], pictures: Mapping[str, Path]) -> list[Miss]:
    """Wrong clicks first; each picture is opened once."""
    missed = sorted((each for each in answers if each.missed), key=lambda each: each.screen)
    found: list[Miss] = []
    for screen, group in groupby(missed, key=lambda each: each.screen):
        image = _opened(pictures[screen])
        found += [_miss(answer, image) for answer in group]
    return sorted(found, key=lambda miss: miss.answer.outcome != "wrong")


def _opened(path: Path) -> Image.Image | None:
    try:
        with Image.open(path) as file:
            return file.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


def _miss(answer: Answer, image: Image.Image | None) -> Miss:
    if image is None:
        return Miss(answer, None, ())
    crop = _crop(answer, image.size)
    part = image.crop(crop)
    if part.width > _WIDEST:
        part = part.resize((_WIDEST, max(1, round(part.height * _WIDEST / part.width))))
    marks = [("right", answer.box), ("inner", answer.inner), ("hit", _hit(answer))]
    return Miss(
        answer,
        as_picture(part),
        tuple(_mark(style, box, crop) for style, box in marks if box is not None),
    )


def _hit(answer: Answer) -> Corners | None:
    return None if answer.point is None else (*answer.point, *answer.point)


def _crop(answer: Answer, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The part of a screen that shows the right box and the answered point."""
    boxes = [box for box in (answer.box, _hit(answer)) if box is not None]
    left, right = _span(
        min(box[0] for box in boxes), max(box[2] for box in boxes), _LEAST[0], size[0]
    )
    top, bottom = _span(
        min(box[1] for box in boxes), max(box[3] for box in boxes), _LEAST[1], size[1]
    )
    return left, top, right, bottom


def _span(low: float, high: float, least: int, whole: int) -> tuple[int, int]:
    """A stretch around another one, at least so long and within 0 and ``whole``."""
    more = max(_AROUND, (least - (high - low)) / 2)
    return max(0, int(low - more)), min(whole, int(high + more) + 1)


def _mark(style: str, box: Corners, crop: tuple[int, int, int, int]) -> Mark:
    left, top, right, bottom = crop
    across, down = 100 / (right - left), 100 / (bottom - top)
    return Mark(
        style,
        (box[0] - left) * across,
        (box[1] - top) * down,
        (box[2] - box[0]) * across,
        (box[3] - box[1]) * down,
    )
