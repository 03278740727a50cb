"""Metrics over presentations (.pptx)."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

from hisa.tasks.metrics.base import (
    BadRules,
    Function,
    Options,
    Score,
    as_path,
    both_files,
    metric,
    reading,
    rules_of,
    verdict,
)
from hisa.tasks.metrics.docs import office_setting
from hisa.tasks.metrics.pptx_compare import differences, open_slides

__all__: list[str] = []

_NEEDS = ("pptx", "lxml")


def _alone(check: Callable[[Any, Any], Score]) -> Function:
    def run(result: Any, expected: Any, options: Options) -> Score:
        with reading("result file"):
            return check(open_slides(result), expected)

    return run


@metric("compare_pptx_files", needs=_NEEDS)
@both_files(open_slides)
def compare_pptx_files(found: Any, wanted: Any, options: Options) -> Score:
    """Two presentations agree in all that the ``examine_…`` options ask for."""
    first = next(differences(found, wanted, options), "")
    return verdict(not first, "the presentations agree", first)


def _portrait(slides: Any, expected: Any) -> Score:
    size = f"{slides.slide_width}x{slides.slide_height}"
    return verdict(slides.slide_width < slides.slide_height, "portrait", f"not portrait: {size}")


metric("check_slide_orientation_Portrait", needs=_NEEDS)(_alone(_portrait))


def _strikethrough(slides: Any, expected: Any) -> Score:
    names = ("slide_index_s", "shape_index_s", "paragraph_index_s")
    pages, shapes, paragraphs = rules_of(expected, *names)
    for page in pages:
        for shape in shapes:
            texts = slides.slides[page].shapes[shape].text_frame.paragraphs
            for index in paragraphs:
                if "strike" not in texts[index].runs[0].font._element.attrib:
                    return 0.0, f"slide {page + 1}, paragraph {index + 1} is not struck through"
    return 1.0, "all are struck through"


metric("check_strikethrough", needs=_NEEDS)(_alone(_strikethrough))


@metric("check_transition", needs=_NEEDS)
def check_transition(result: Any, expected: Any, options: Options) -> Score:
    """A slide has a transition of the expected kind."""
    from lxml import etree

    index, kind = rules_of(expected, "slide_idx", "transition_type")
    if not isinstance(index, int):
        raise BadRules(f"slide_idx {index!r} is no number")
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    with reading("result file"), zipfile.ZipFile(as_path(result)) as archive:
        tree = etree.fromstring(archive.read(f"ppt/slides/slide{index + 1}.xml"), parser)
        kinds = [
            etree.QName(child).localname
            for node in tree.iter("{*}transition")
            for child in node
            if isinstance(child.tag, str)
        ]
    return verdict(kind in kinds, "as expected", f"{kinds} instead of {kind!r}")


def _fills(slides: Any) -> Iterator[Any]:
    """The background colour of each slide; None where it is no plain colour."""
    for slide in slides.slides:
        fill = slide.background.fill
        if fill.type == 5:
            fill = slide.slide_layout.slide_master.background.fill
        yield getattr(fill.fore_color, "rgb", None) if fill.type == 1 else None


def _fill_distance(slides: Any, expected: Any) -> Score:
    wanted = rules_of(expected, "rgb")
    before = rules_of(expected).get("original_rgb")
    far = math.sqrt(3 * 255**2)

    def distance(colour: Any) -> float:
        if colour is None or (before is not None and list(colour) == list(before)):
            return 1.0
        return math.dist(colour, wanted) / far

    away = [distance(colour) for colour in _fills(slides)]
    score = 1.0 - sum(away) / len(away)
    return score, f"the backgrounds agree by {score:.3f}"


metric("evaluate_presentation_fill_to_rgb_distance", needs=_NEEDS)(_alone(_fill_distance))


@metric("check_image_stretch_and_center", needs=_NEEDS)
@both_files(open_slides)
def check_image_stretch_and_center(found: Any, wanted: Any, options: Options) -> Score:
    """The first slide's first picture fills the slide."""
    pictures = [shape for shape in wanted.slides[0].shapes if shape.shape_type == 13]
    if not pictures:
        raise BadRules("the original presentation has no picture on its first slide")
    now = [
        shape
        for shape in found.slides[0].shapes
        if shape.shape_type == 13 and shape.image.blob == pictures[0].image.blob
    ]
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


@metric("check_auto_saving_time", needs=("lxml",))
def check_auto_saving_time(result: Any, expected: Any, options: Options) -> Score:
    """LibreOffice saves by itself every so many minutes."""
    wanted = rules_of(expected, "minutes")
    path = "/org.openoffice.Office.Common/Save/Document"
    found = office_setting(result, path, "AutoSaveTimeIntervall")
    return verdict(found == str(wanted), "as expected", f"{found} is not {wanted}")


@metric("check_presenter_console_disable", needs=("lxml",))
def check_presenter_console_disable(result: Any, expected: Any, options: Options) -> Score:
    """Impress shows no presenter console."""
    path = "/org.openoffice.Office.Impress/Misc/Start"
    found = office_setting(result, path, "EnablePresenterScreen")
    return verdict((found or "").lower() == "false", "switched off", f"it is {found}")
