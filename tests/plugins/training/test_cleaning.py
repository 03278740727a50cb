"""GTA1's cleaning: each detector drops misplaced boxes and leaves right ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from PIL import Image

from hisa.plugins.training.box_cleaning import (
    OtherLooks,
    clean,
    contact_sheet,
    iou,
    recorded_targets,
)
from hisa.plugins.training.widget_pages import Box, Target

RUNS = Path(__file__).parents[2] / "data" / "looks_of_examples"
"""Two runs of the example shopping_list.yaml by the offline model."""


def misplace_box(target: Target, draw: random.Random) -> Iterator[Target]:
    """The target with its box moved aside or put anywhere, where nothing known resembles it.

    There is none of one that is too large for that.
    """
    left, top, right, bottom = target.box
    width, height = right - left, bottom - top
    for _ in range(200):
        if draw.random() < 0.5:
            x = left + draw.choice((-1, 1)) * draw.uniform(0.6, 1.5) * width
            y = top + draw.choice((-1, 1)) * draw.uniform(0.6, 1.5) * height
        else:
            x = draw.uniform(0, target.picture.width - width)
            y = draw.uniform(0, target.picture.height - height)
        box = Box(x, y, x + width, y + height)
        inside = 0 <= x <= target.picture.width - width
        inside = inside and 0 <= y <= target.picture.height - height
        if inside and all(iou(box, other) < 0.3 for other in target.elements):
            yield replace(target, box=box)
            return


def test_looks_detector_drops_misplaced_boxes_and_keeps_right_boxes() -> None:
    right, draw = list(recorded_targets(RUNS)), random.Random(46)
    wrong = [target for own in right for target in misplace_box(own, draw)]
    right_result, wrong_result = (clean(part, OtherLooks(right)) for part in (right, wrong))
    print(f"right: {right_result}; misplaced: {wrong_result}")
    assert len(right) >= 200
    assert len(wrong) >= 50
    assert len(wrong_result.dropped) >= 0.9 * len(wrong)
    assert len(right_result.dropped) <= 0.1 * len(right)
    assert right_result.not_judged < 0.2 * len(right)


def test_cleaning_drops_boxes_strictly_below_the_threshold() -> None:
    boxes, picture = [Box(0, 0, 10, 10)], Image.new("RGB", (80, 64))
    third, less = Box(0, 0, 30, 10), Box(0, 0, 34, 10)
    sample = [Target(picture, "a", box, "") for box in (third, less)]
    result = clean(sample, lambda _: boxes, 1 / 3)
    assert [target.box for target in result.remaining] == [third]
    assert [(drop.target.box, drop.overlap) for drop in result.dropped] == [(less, 10 / 34)]
    nothing = clean(sample, lambda _: [])
    assert (nothing.remaining, nothing.not_judged) == (sample, 2)
    assert contact_sheet(result.dropped).width > 240
    assert contact_sheet([]).height > 0


def test_a_tree_does_not_confirm_its_own_annotation() -> None:
    picture, box = Image.new("RGB", (200, 100)), Box(10, 10, 60, 30)
    own = Target(picture, "save", box, "", (box,), "run 1")
    other = Target(
        picture.copy(), "save", Box(100, 50, 150, 70), "", (Box(100, 50, 150, 70),), "run 2"
    )
    assert clean([own], OtherLooks([own])).not_judged == 1
    result = clean([own], OtherLooks([own, other]))
    assert [drop.target for drop in result.dropped] == [own]
