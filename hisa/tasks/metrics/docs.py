"""Metrics over text documents: .docx, and .odt where only texts are compared."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hisa.tasks.metrics.base import (
    Function,
    Options,
    Score,
    Unreadable,
    as_package,
    as_path,
    both_files,
    expecting,
    metric,
    read_text,
    reading,
    rules_of,
    verdict,
)

__all__: list[str] = []

_NEEDS = ("docx", "lxml", "rapidfuzz")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ODT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def _open(path: Any) -> Any:
    import docx

    return docx.Document(str(as_package(path)))


def _alone(check: Callable[[Any, Any], Score]) -> Function:
    """Makes a metric out of a check of the agent's document by the rules."""

    def run(result: Any, expected: Any, options: Options) -> Score:
        with reading("result file"):
            return check(_open(result), expected)

    return run


def _paragraphs(path: Any) -> list[str]:
    """The texts of a document's paragraphs, without those in tables of a .docx."""
    if as_path(path).suffix.lower() == ".odt":
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        with zipfile.ZipFile(path) as archive:
            tree = etree.fromstring(archive.read("content.xml"), parser)
        return ["".join(node.itertext()) for node in tree.iter(f"{_ODT}p")]
    return [paragraph.text for paragraph in _open(path).paragraphs]


@metric("compare_docx_files", needs=_NEEDS)
def compare_docx_files(result: Any, expected: Any, options: Options) -> Score:
    """Two documents have the same text.

    Options: ``ignore_blanks`` (default), ``ignore_case``, ``ignore_order`` (of paragraphs),
    ``delete_empty_lines``, ``fuzzy_match`` and ``content_only`` (a degree instead of yes or no).
    """
    with expecting("expected file"):
        wanted = _prepared(_paragraphs(expected), options)
        kind = Path(expected).suffix.lower()
    with reading("result file"):
        if Path(result).suffix.lower() != kind:
            raise Unreadable(f"{result.name} is no {kind} file")
        found = _prepared(_paragraphs(result), options)
    if options.get("content_only", False) or options.get("ignore_blanks", True):
        fuzzy = options.get("content_only", False) or options.get("fuzzy_match", False)
        return _compared([_joined(found)], [_joined(wanted)], fuzzy)
    if len(found) != len(wanted):
        return 0.0, f"{len(found)} paragraphs, not {len(wanted)}"
    return _compared(found, wanted, options.get("fuzzy_match", False))


def _prepared(texts: list[str], options: Options) -> list[str]:
    if options.get("ignore_case", False):
        texts = [text.lower() for text in texts]
    if options.get("ignore_order", False):
        texts = sorted(texts)
    if options.get("delete_empty_lines", False):
        texts = [text for text in texts if text.strip()]
    return texts


def _joined(texts: list[str]) -> str:
    return re.sub(r"\s+", " ", "\n".join(texts)).strip()


def _compared(found: list[str], wanted: list[str], fuzzy: bool) -> Score:
    if fuzzy:
        from rapidfuzz import fuzz

        ratios = [fuzz.ratio(a, b) / 100.0 for a, b in zip(found, wanted, strict=True)]
        score = sum(ratios) / len(ratios) if ratios else 1.0
        return score, f"{score:.3f} of the text agrees"
    for number, (one, other) in enumerate(zip(found, wanted, strict=True), 1):
        if one != other:
            return 0.0, f"text {number}: {one[:100]!r} is not {other[:100]!r}"
    return 1.0, "the texts are equal"


def _same_text_and(check: Callable[[Any, Any], Score]) -> Function:
    """Makes a metric that first wants the texts to be equal."""

    def run(result: Any, expected: Any, options: Options) -> Score:
        score, why = compare_docx_files(result, expected, {})
        if not score:
            return 0.0, why
        return both_files(_open)(lambda found, wanted, _: check(found, wanted))(
            result, expected, options
        )

    return run


@metric("compare_init_lines", needs=_NEEDS)
@both_files(_open)
def compare_init_lines(found: Any, wanted: Any, options: Options) -> Score:
    """The paragraphs agree as far as the shorter document goes."""
    for number, (one, other) in enumerate(
        zip(found.paragraphs, wanted.paragraphs, strict=False), 1
    ):
        if one.text != other.text:
            return 0.0, f"paragraph {number} differs"
    return 1.0, "the first paragraphs agree"


@metric("compare_docx_tables", needs=_NEEDS)
@both_files(_open)
def compare_docx_tables(found: Any, wanted: Any, options: Options) -> Score:
    """The tables have the same texts."""

    def texts(document: Any) -> list[Any]:
        return [
            [[cell.text.strip() for cell in row.cells] for row in table.rows]
            for table in document.tables
        ]

    return verdict(texts(found) == texts(wanted), "the tables agree", "the tables differ")


@metric("compare_docx_images", needs=_NEEDS)
@both_files(_open)
def compare_docx_images(found: Any, wanted: Any, options: Options) -> Score:
    """The documents hold the same pictures."""

    def pictures(document: Any) -> list[bytes]:
        import io

        from PIL import Image

        parts = [r.target_part for r in document.part.rels.values() if "image" in r.reltype]
        return [Image.open(io.BytesIO(part.blob)).tobytes() for part in parts]

    return verdict(pictures(found) == pictures(wanted), "the pictures agree", "they differ")


@metric("compare_contains_image", needs=_NEEDS)
@both_files(_open)
def compare_contains_image(found: Any, wanted: Any, options: Options) -> Score:
    """The documents have pictures in the same places."""
    for one, other in zip(found.paragraphs, wanted.paragraphs, strict=False):
        for first, second in zip(one.runs, other.runs, strict=False):
            if ("graphicData" in first.element.xml) != ("graphicData" in second.element.xml):
                return 0.0, f"a picture in one of them at {one.text[:60]!r}"
    return 1.0, "pictures in the same places"


def _line_spacing(found: Any, wanted: Any) -> Score:
    def spacing(document: Any) -> list[Any]:
        return [p.paragraph_format.line_spacing for p in document.paragraphs]

    return verdict(spacing(found) == spacing(wanted), "the spacing agrees", "it differs")


metric("compare_line_spacing", needs=_NEEDS)(_same_text_and(_line_spacing))


@metric("compare_subscript_contains", needs=_NEEDS)
@both_files(_open)
def compare_subscript_contains(found: Any, wanted: Any, options: Options) -> Score:
    """Some run is a subscript in both."""
    for one, other in zip(found.paragraphs, wanted.paragraphs, strict=False):
        for first, second in zip(one.runs, other.runs, strict=False):
            if first.font.subscript and second.font.subscript:
                return 1.0, f"{first.text[:40]!r} is a subscript"
    return 0.0, "no common subscript"


def _equation(found: Any, wanted: Any) -> Score:
    for one, other in zip(found.paragraphs, wanted.paragraphs, strict=False):
        for first, second in zip(one.runs, other.runs, strict=False):
            if first.element.xpath(".//w:object") and second.element.xpath(".//w:object"):
                return 1.0, "both have an equation"
    return 0.0, "no common equation"


metric("compare_insert_equation", needs=_NEEDS)(_same_text_and(_equation))


def _struck(found: Any, wanted: Any) -> Score:
    if not found.paragraphs:
        return 0.0, "the document is empty"
    plain = [run.text for run in found.paragraphs[-1].runs if not run.font.strike]
    return verdict(not plain, "the last paragraph is struck through", f"not struck: {plain[:3]}")


metric("evaluate_strike_through_last_paragraph", needs=_NEEDS)(_same_text_and(_struck))


def _italic_14(found: Any, wanted: Any) -> Score:
    for paragraph in found.paragraphs:
        for run in paragraph.runs:
            if run.italic and (run.font.size is None or run.font.size.pt != 14):
                return 0.0, f"{run.text[:60]!r} is not of size 14"
    return 1.0, "all italic text is of size 14"


metric("check_italic_font_size_14", needs=_NEEDS)(_same_text_and(_italic_14))


@metric("check_tabstops", needs=_NEEDS)
@both_files(_open)
def check_tabstops(found: Any, wanted: Any, options: Options) -> Score:
    """How near the tab stops are to those expected, 0 to 1."""
    ours = [p for p in found.paragraphs if p.text.strip()]
    theirs = [p for p in wanted.paragraphs if p.text.strip()]
    if len(ours) != len(theirs) or not ours:
        return 0.0, f"{len(ours)} paragraphs, not {len(theirs)}"
    number = options.get("word_number_split_by_tabstop")
    if number is not None:
        for paragraph in ours:
            part = paragraph.text.split("\t")[options.get("index", 0)]
            if len(part.split()) != number:
                return 0.0, f"{part[:60]!r} has not {number} words"
    section = wanted.sections[0]
    width = section.page_width - section.left_margin - section.right_margin
    away = 0.0
    for one, other in zip(ours, theirs, strict=True):
        stops, expected = _stops(one), _stops(other)
        if [kind for kind, _ in stops] != [kind for kind, _ in expected]:
            return 0.0, f"other tab stops in {one.text[:60]!r}"
        pairs = zip(stops, expected, strict=True)
        away += sum(abs(a - b) for (_, a), (_, b) in pairs) / width
    score = max(0.0, 1.0 - away / len(ours))
    return score, f"tab stops agree by {score:.3f}"


def _stops(paragraph: Any) -> list[tuple[Any, int]]:
    from docx.enum.text import WD_TAB_ALIGNMENT

    return [
        (stop.alignment, stop.position)
        for stop in paragraph.paragraph_format.tab_stops
        if stop.alignment != WD_TAB_ALIGNMENT.CLEAR
        and not (stop.alignment == WD_TAB_ALIGNMENT.LEFT and stop.position == 0)
    ]


def _page_break(document: Any, expected: Any) -> Score:
    wanted = rules_of(expected).get("page_break_count") if expected else None
    count = sum(
        node.get(f"{_WORD}type") == "page"
        for paragraph in document.paragraphs
        for run in paragraph.runs
        for node in run.element.iter(f"{_WORD}br")
    )
    holds = count > 0 if wanted is None else count == wanted and count > 0
    return verdict(holds, f"{count} page breaks", f"{count} page breaks, not {wanted or 'one'}")


metric("contains_page_break", needs=_NEEDS)(_alone(_page_break))


def _font_names(document: Any, expected: Any) -> Score:
    wanted = rules_of(expected, "font_name")
    other = {run.font.name for p in document.paragraphs for run in p.runs} - {wanted}
    return verdict(not other, f"all is in {wanted}", f"there is {sorted(map(str, other))}")


metric("compare_font_names", needs=_NEEDS)(_alone(_font_names))


def _footers(document: Any, expected: Any) -> Score:
    for section in document.sections:
        paragraphs = section.footer.paragraphs
        text = paragraphs[0].text if paragraphs else ""
        if not any(letter.isdigit() for letter in text):
            return 0.0, f"a footer has no number: {text[:60]!r}"
    return 1.0, "every footer has a number"


metric("has_page_numbers_in_footers", needs=_NEEDS)(_alone(_footers))


def _centered(document: Any, expected: Any) -> Score:
    from docx.enum.text import WD_ALIGN_PARAGRAPH

    first = document.paragraphs[0].paragraph_format.alignment
    return verdict(first == WD_ALIGN_PARAGRAPH.CENTER, "centered", f"it is {first}")


metric("is_first_line_centered", needs=_NEEDS)(_alone(_centered))


def _lower_case(document: Any, expected: Any) -> Score:
    cells = [cell for table in document.tables for row in table.rows for cell in row.cells]
    paragraphs = [p for cell in cells for p in cell.paragraphs] + list(document.paragraphs)
    upper = [run.text for p in paragraphs for run in p.runs if run.text.isupper()]
    return verdict(not upper, "no capitals", f"capitals: {upper[:3]}")


metric("evaluate_conversion", needs=_NEEDS)(_alone(_lower_case))


def _three_spacings(document: Any, expected: Any) -> Score:
    found = [p.paragraph_format.line_spacing for p in document.paragraphs[:3]]
    return verdict(found == [1.0, 2.0, 1.5], "as expected", f"{found} is not [1.0, 2.0, 1.5]")


metric("evaluate_spacing", needs=_NEEDS)(_alone(_three_spacings))


@metric("find_default_font", needs=("lxml",))
def find_default_font(result: Any, expected: Any, options: Options) -> Score:
    """Writer's default font, from LibreOffice's settings file."""
    wanted = rules_of(expected, "font_name")
    found = office_setting(result, "/org.openoffice.Office.Writer/DefaultFont", "Standard")
    return verdict(found == wanted, "as expected", f"{found!r} is not {wanted!r}")


def office_setting(path: Any, item: str, name: str) -> str | None:
    """One value of LibreOffice's settings file (registrymodifications.xcu).

    Raises:
        Unreadable: it is no such file.
    """
    from lxml import etree

    oor = "{http://openoffice.org/2001/registry}"
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    with reading("settings file"):
        tree = etree.fromstring(read_text(path).encode(), parser)
    value = None
    for node in tree.iter("item"):
        if node.get(f"{oor}path") == item:
            for setting in node.iter("prop"):
                if setting.get(f"{oor}name") == name:
                    value = setting.findtext("value")
    return None if value is None else str(value)
