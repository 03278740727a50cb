"""Metrics over presentations (.pptx)."""

from __future__ import annotations

import math
import zipfile
from typing import Any

from hisa.tasks.metrics.base import (
    BadRules,
    Options,
    Score,
    as_path,
    equal,
    metric,
    parsed,
    rule,
    rules_of,
    verdict,
)
from hisa.tasks.metrics.docs import office_setting
from hisa.tasks.metrics.pptx_compare import background, differences, open_slides

__all__: list[str] = []

_NEEDS = ("pptx", "lxml")
_PICTURE = 13


@metric("compare_pptx_files", found=open_slides, wanted=open_slides, needs=_NEEDS)
def compare_pptx_files(found: Any, wanted: Any, options: Options) -> Score:
    """Two presentations agree in all that the ``examine_…`` options ask for."""
    first = next(differences(found, wanted, options), "")
    return verdict(not first, "the presentations agree", first)


@metric("check_slide_orientation_Portrait", found=open_slides, needs=_NEEDS)
def check_slide_orientation(found: Any, expected: Any, options: Options) -> Score:
    """The slides are higher than wide."""
    size = f"{found.slide_width}x{found.slide_height}"
    return verdict(found.slide_width < found.slide_height, "portrait", f"not portrait: {size}")


@metric("check_transition", wanted=rule("slide_idx", "transition_type"), needs=_NEEDS)
def check_transition(result: Any, expected: Any, options: Options) -> Score:
    """A slide has a transition of the expected kind."""
    from lxml import etree

    index, kind = expected
    if not isinstance(index, int):
        raise BadRules(f"slide_idx {index!r} is no number")
    with zipfile.ZipFile(as_path(result)) as archive:
        tree = parsed(archive.read(f"ppt/slides/slide{index + 1}.xml"))
    nodes = (child for node in tree.iter("{*}transition") for child in node)
    kinds = [etree.QName(node).localname for node in nodes if isinstance(node.tag, str)]
    return verdict(kind in kinds, "as expected", f"{kinds} instead of {kind!r}")


@metric(
    "evaluate_presentation_fill_to_rgb_distance", found=open_slides, wanted=rule(), needs=_NEEDS
)
def fill_distance(found: Any, rules: Any, options: Options) -> Score:
    """How near the slides' backgrounds are to a colour, 0 to 1."""
    wanted, before = rules_of(rules, "rgb"), rules.get("original_rgb")
    far = math.sqrt(3 * 255**2)

    def distance(colour: Any) -> float:
        if colour is None or (before is not None and list(colour) == list(before)):
            return 1.0
        return math.dist(colour, wanted) / far

    away = [distance(background(slide)) for slide in found.slides]
    score = 1.0 - sum(away) / len(away)
    return score, f"the backgrounds agree by {score:.3f}"


@metric("check_image_stretch_and_center", found=open_slides, wanted=open_slides, needs=_NEEDS)
def check_image_stretch_and_center(found: Any, wanted: Any, options: Options) -> Score:
    """The first slide's first picture fills the slide."""
    pictures, now = (
        [shape for shape in each.slides[0].shapes if shape.shape_type == _PICTURE]
        for each in (wanted, found)
    )
    if not pictures:
        raise BadRules("the original presentation has no picture on its first slide")
    now = [shape for shape in now if shape.image.blob == pictures[0].image.blob]
    if not now:
        return 0.0, "the picture is gone"
    picture, width, height = now[-1], wanted.slide_width, wanted.slide_height
    near = 914_400 / 2
    holds = (
        abs(picture.width - width) <= near
        and abs(picture.height - height) <= near
        and abs(picture.left - (width - picture.width) / 2) <= near
        and abs(picture.top - (height - picture.height) / 2) <= near
    )
    return verdict(holds, "it fills the slide", "it does not fill the slide")


equal(
    "check_auto_saving_time",
    office_setting("/org.openoffice.Office.Common/Save/Document", "AutoSaveTimeIntervall"),
    wanted=lambda rules: str(rules_of(rules, "minutes")),
    needs=("lxml",),
)
_presenter = office_setting("/org.openoffice.Office.Impress/Misc/Start", "EnablePresenterScreen")


@metric("check_presenter_console_disable", found=_presenter, needs=("lxml",))
def check_presenter_console_disable(found: Any, expected: Any, options: Options) -> Score:
    """Impress shows no presenter console."""
    return verdict((found or "").lower() == "false", "switched off", f"it is {found}")
