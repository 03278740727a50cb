"""Metrics over presentations (.pptx), and where two of them differ as far as options ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import Options, Score, as_package, metric, verdict

__all__: list[str] = []

_TABLE, _PICTURE, _FREEFORM = 19, 13, 5
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_OFF_BY_DEFAULT = frozenset((
    "examine_title_bottom_position", "examine_table_bottom_position", "examine_right_position",
    "examine_top_position", "examine_shape_for_shift_size", "examine_image_size",
    "examine_modify_height",
))  # fmt: skip
_LOW, _RIGHT, _TOP = 3_600_000, 4_320_000, 1_980_000
"""English Metric Units (914,400 an inch) that some options compare places with."""


def open_slides(path: Path) -> Any:
    """A presentation."""
    import pptx

    return pptx.Presentation(str(as_package(path)))


class _Asked:
    """Which differences count."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.tolerance = float(options.get("approximately_tolerance", 0.005))

    def __call__(self, name: str) -> bool:
        name = f"examine_{name}"
        return bool(self._options.get(name, name not in _OFF_BY_DEFAULT))


def differences(result: Any, expected: Any, options: Options) -> Iterator[str]:
    """Every difference that counts, slide by slide."""
    asked = _Asked(options)
    if len(result.slides) != len(expected.slides) and asked("number_of_slides"):
        yield f"{len(result.slides)} slides, not {len(expected.slides)}"
    for number, (one, other) in enumerate(zip(result.slides, expected.slides, strict=False), 1):
        for difference in _slide(one, other, number, asked):
            yield f"slide {number}: {difference}"


def _slide(one: Any, other: Any, number: int, asked: _Asked) -> Iterator[str]:
    if asked("background_color") and background(one) != background(other):
        yield "other background"
    if asked("note") and _notes(one) != _notes(other):
        yield "other notes"
    if len(one.shapes) != len(other.shapes):
        yield f"{len(one.shapes)} shapes, not {len(other.shapes)}"
    if asked("bullets") and _other_bullets(one, other):
        yield "other bullets"
    for first, second in zip(one.shapes, other.shapes, strict=False):
        yield from _shape(first, second, number, asked)
    ours, theirs = list(_texts(one.shapes)), list(_texts(other.shapes))
    if len(ours) != len(theirs):
        yield f"{len(ours)} texts, not {len(theirs)}"
    for first, second in zip(ours, theirs, strict=False) if asked("alignment") else ():
        if asked("text") and first.text.strip() != second.text.strip():
            yield f"text {first.text.strip()[:60]!r} is not {second.text.strip()[:60]!r}"
        counts = [len(shape.text_frame.paragraphs) for shape in (first, second)]
        if counts[0] != counts[1]:
            yield f"{counts[0]} paragraphs, not {counts[1]}, at {first.text.strip()[:60]!r}"
        yield from _alignment(first, second)


def background(slide: Any) -> Any:
    """The colour behind a slide; None where it is no plain colour."""
    fill = slide.background.fill
    if fill.type == 5:
        fill = slide.slide_layout.slide_master.background.fill
    return getattr(fill.fore_color, "rgb", None) if fill.type == 1 else None


def _notes(slide: Any) -> str:
    """Asking a slide for its notes makes some; so it is only asked where it has them."""
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    return "" if frame is None else str(frame.text).strip()


def _texts(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        if shape.has_text_frame:
            yield shape
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes)


def _near(one: Any, other: Any, asked: _Asked) -> bool:
    if one == other:
        return True
    if not one or not other:
        return False
    return bool(abs(one - other) / max(abs(one), abs(other)) <= asked.tolerance)


def _same_box(one: Any, other: Any, asked: _Asked) -> bool:
    sides = ("left", "top", "width", "height")
    return all(_near(getattr(one, side), getattr(other, side), asked) for side in sides)


def _shape(one: Any, other: Any, number: int, asked: _Asked) -> Iterator[str]:
    yield from _places(one, other, number, asked)
    if (one.shape_type == _TABLE) != (other.shape_type == _TABLE):
        yield "a table in place of another shape, or the other way round"
    elif one.shape_type == _TABLE:
        yield from _table(one.table, other.table, asked)
    if one.has_text_frame and other.has_text_frame:
        yield from _text(one, other, asked)


def _places(one: Any, other: Any, number: int, asked: _Asked) -> Iterator[str]:
    """Each option has a kind of shape that it watches; all others must stay where they are."""
    kind = one.shape_type if one.shape_type == other.shape_type else None
    texts = one.has_text_frame and other.has_text_frame
    same = _same_box(one, other, asked)
    lowered = (one.top or 0) > (other.top or 0) and (one.top or 0) >= _LOW
    if asked("title_bottom_position"):
        title = texts and one.text == other.text
        if title and one.text == "Product Comparison" and not lowered:
            yield "the title is not at the bottom"
        if not title and not same:
            yield "a shape moved"
    if asked("table_bottom_position"):
        if number == 3 and kind == _TABLE:
            if not lowered:
                yield "the table is not at the bottom"
        elif not same:
            yield "a shape moved"
    if asked("right_position") and number == 2:
        bare = not one.has_text_frame and not other.has_text_frame
        if bare and ((one.left or 0) <= (other.left or 0) or (one.left or 0) < _RIGHT):
            yield "a shape is not on the right"
    low = (one.top or 0) >= (other.top or 0) or (one.top or 0) > _TOP
    if asked("top_position") and number == 2 and kind == _PICTURE and low:
        yield "the picture is not at the top"
    yield from _sizes(one, other, asked, kind, same)


def _sizes(one: Any, other: Any, asked: _Asked, kind: Any, same: bool) -> Iterator[str]:
    texts = one.has_text_frame and other.has_text_frame
    if asked("shape_for_shift_size") and not same:
        free = "Elaborate on what you want to discuss."
        if not (texts and one.text == other.text == free):
            yield "a shape moved or has another size"
    if asked("shape") and not same:
        yield "a shape moved or has another size"
    if asked("image_size"):
        width, height = (
            _near(getattr(one, s), getattr(other, s), asked) for s in ("width", "height")
        )
        if not (width and height) if kind == _PICTURE else not same:
            yield "a picture or shape has another size"
    if asked("modify_height"):
        bare = not one.has_text_frame and not other.has_text_frame
        if bare or kind == _FREEFORM:
            if not _near(one.height, other.height, asked):
                yield "a shape has another height"
        elif not same:
            yield "a shape moved or has another size"


def _table(one: Any, other: Any, asked: _Asked) -> Iterator[str]:
    if (len(one.rows), len(one.columns)) != (len(other.rows), len(other.columns)):
        yield "a table has other rows or columns"
        return
    for first, second in zip(one.iter_cells(), other.iter_cells(), strict=True):
        yield from _counts(first, second)
        for paragraph, wanted in _paragraphs(first, second):
            for run, expected in zip(paragraph.runs, wanted.runs, strict=False):
                for name in _font(run, expected, asked, always=True):
                    yield f"other {name} in a table at {run.text[:40]!r}"


def _text(one: Any, other: Any, asked: _Asked) -> Iterator[str]:
    if asked("text") and one.text.strip() != other.text.strip():
        yield f"text {one.text.strip()[:60]!r} is not {other.text.strip()[:60]!r}"
    if asked("alignment"):
        yield from _alignment(one, other)
    yield from _counts(one, other)
    for paragraph, wanted in _paragraphs(one, other):
        if asked("text") and paragraph.text != wanted.text:
            yield f"paragraph {paragraph.text[:60]!r} is not {wanted.text[:60]!r}"
        if asked("indent") and paragraph.level != wanted.level:
            yield f"other level at {paragraph.text[:60]!r}"
        for run, expected in zip(paragraph.runs, wanted.runs, strict=False):
            for name in _font(run, expected, asked):
                yield f"other {name} at {run.text[:40]!r}"


def _paragraphs(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    return zip(one.text_frame.paragraphs, other.text_frame.paragraphs, strict=False)


def _counts(one: Any, other: Any) -> Iterator[str]:
    """A text in other pieces may look the same, and counts as another one in the benchmark."""
    first, second = ([len(p.runs) for p in each.text_frame.paragraphs] for each in (one, other))
    if first != second:
        yield f"other paragraphs or pieces of text: {first} is not {second}"


def _alignment(one: Any, other: Any) -> Iterator[str]:
    from pptx.enum.text import PP_ALIGN

    for paragraph, wanted in _paragraphs(one, other):
        if (paragraph.alignment or PP_ALIGN.LEFT) != (wanted.alignment or PP_ALIGN.LEFT):
            yield f"other alignment at {paragraph.text[:60]!r}"


def _font(one: Any, other: Any, asked: _Asked, *, always: bool = False) -> Iterator[str]:
    """Differences of two runs; with ``always`` bold, italic and underline count unasked."""
    first, second = one.font, other.font
    if not always:
        if asked("font_name") and first.name != second.name:
            yield "font"
        if asked("font_size") and first.size != second.size:
            yield "size"
        if asked("strike_through") and _strike(first) != _strike(second):
            yield "strike-through"
    if (always or asked("font_bold")) and bool(first.bold) != bool(second.bold):
        yield "weight"
    if (always or asked("font_italic")) and bool(first.italic) != bool(second.italic):
        yield "slant"
    colours = _colour(first), _colour(second)
    if asked("color_rgb") and None not in colours and colours[0] != colours[1]:
        yield "colour"
    if (always or asked("font_underline")) and _lined(first.underline, second.underline):
        yield "underline"


def _strike(font: Any) -> str:
    return str(font._element.attrib.get("strike", "noStrike"))


def _colour(font: Any) -> Any:
    """A run's own colour; None where it takes that of its surroundings."""
    return getattr(font.fill.fore_color, "rgb", None) if font.fill.type == 1 else None


def _lined(one: Any, other: Any) -> bool:
    """Whether underlines differ; one that is not stated differs from a plain line alone."""
    if one is None or other is None:
        return one is True or other is True
    return bool(one != other)


def _other_bullets(one: Any, other: Any) -> bool:
    """Whether lists differ; only to be asked before the paragraphs are, which changes them."""
    looked_at: set[Any] = set()
    for first, second in zip(one.shapes, other.shapes, strict=False):
        if not (first.has_text_frame and second.has_text_frame):
            continue
        for paragraph, wanted in _paragraphs(first, second):
            looked_at |= {paragraph._p, wanted._p}
            if paragraph.runs and wanted.runs:
                found, expected = _bullets(one, looked_at), _bullets(other, looked_at)
                return found is not None and expected is not None and found != expected
    return False


def _bullets(slide: Any, looked_at: set[Any]) -> list[tuple[str, str, str]] | None:
    """Level, character and text of each paragraph that has text.

    A paragraph without properties has no level, which is not the level 0 of one that has some. Only
    one that the benchmark has looked at has them in any case: its library adds them by that. None
    where a piece of text is empty: the benchmark then compares no bullets.
    """
    found = []
    for paragraph in slide.element.iter(f"{_DRAWING}p"):
        texts = [node.text for node in paragraph.iter(f"{_DRAWING}t")]
        if None in texts:
            return None
        text = "".join(texts)
        if text.strip():
            style = paragraph.find(f"{_DRAWING}pPr")
            mark = None if style is None else style.find(f"{_DRAWING}buChar")
            none = "0" if style is not None or paragraph in looked_at else "none"
            level = none if style is None else style.get("lvl", none)
            found.append((level, "" if mark is None else mark.get("char", ""), text))
    return found


@metric("compare_pptx_files", found=open_slides, wanted=open_slides, needs=("pptx", "lxml"))
def compare_pptx_files(result: Any, expected: Any, options: Options) -> Score:
    """Two presentations agree in all that the ``examine_…`` options ask for."""
    first = next(differences(result, expected, options), "")
    return verdict(not first, "the presentations agree", first)
