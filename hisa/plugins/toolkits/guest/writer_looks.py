"""Sets how text and paragraphs look, in a text document and in text boxes of slides alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import uno  # type: ignore[import-not-found]

from .office_bridge import Refused

__all__ = ["COLORS", "character", "color", "paragraph", "put", "told_character", "told_paragraph"]

_SCRIPTS = ("", "Asian", "Complex")
"""Western, Asian and right-to-left scripts have properties of their own."""
_UNDERLINES = {"none": 0, "single": 1, "double": 2, "dotted": 3, "dashed": 5, "wavy": 10}
_ADJUST = {"left": "LEFT", "right": "RIGHT", "center": "CENTER", "justify": "BLOCK"}
_SHIFTS = {"normal": (0, 100), "superscript": (14000, 58), "subscript": (-14000, 58)}
"""14000: as high as the font says, 58 % of its size: what the menus set."""
_BOLD, _NORMAL = 150.0, 100.0
_AUTOMATIC = -1
COLORS = {
    "black": 0x000000, "white": 0xFFFFFF, "red": 0xFF0000, "green": 0x008000, "blue": 0x0000FF,
    "yellow": 0xFFFF00, "orange": 0xFFA500, "purple": 0x800080, "gray": 0x808080,
    "grey": 0x808080, "brown": 0xA52A2A, "pink": 0xFFC0CB, "cyan": 0x00FFFF, "magenta": 0xFF00FF,
    "lime": 0x00FF00, "navy": 0x000080, "teal": 0x008080, "silver": 0xC0C0C0, "maroon": 0x800000,
    "olive": 0x808000, "gold": 0xFFD700, "violet": 0xEE82EE, "automatic": _AUTOMATIC,
    "none": _AUTOMATIC,
}  # fmt: skip


def color(text: str) -> int:
    """Returns a colour's number.

    Raises:
        Refused: it is no colour.
    """
    word = text.strip().lower()
    if word in COLORS:
        return COLORS[word]
    digits = word.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(each * 2 for each in digits)
    try:
        if len(digits) == 6:
            return int(digits, 16)
    except ValueError:
        pass
    raise Refused(f"{text!r} is no colour; such as #ff8800, or {', '.join(list(COLORS)[:10])}")


def shown_color(number: int) -> str:
    """Returns a colour as #rrggbb, or "automatic"."""
    return "automatic" if number == _AUTOMATIC else f"#{number & 0xFFFFFF:06x}"


def character(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties of characters that were asked for; None asks for nothing.

    Raises:
        Refused: a value is none that there is.
    """
    made: dict[str, Any] = {}
    wide = {}
    if given.get("bold") is not None:
        wide["CharWeight"] = _BOLD if given["bold"] else _NORMAL
    if given.get("italic") is not None:
        slant = "ITALIC" if given["italic"] else "NONE"
        wide["CharPosture"] = uno.Enum("com.sun.star.awt.FontSlant", slant)
    if given.get("size") is not None:
        wide["CharHeight"] = float(given["size"])
    if given.get("font"):
        wide["CharFontName"] = given["font"]
    for name, value in wide.items():
        made.update({f"{name}{script}": value for script in _SCRIPTS})
    if given.get("underline"):
        made["CharUnderline"] = _UNDERLINES[given["underline"]]
    if given.get("strike") is not None:
        made["CharStrikeout"] = 1 if given["strike"] else 0
    if given.get("color"):
        made["CharColor"] = color(given["color"])
    if given.get("highlight"):
        made["CharBackColor"] = color(given["highlight"])
    if given.get("position"):
        made["CharEscapement"], made["CharEscapementHeight"] = _SHIFTS[given["position"]]
    return made


def hundredths(centimetres: float) -> int:
    """Returns a length in hundredths of a millimetre."""
    return round(centimetres * 1000)


def paragraph(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties of paragraphs that were asked for; None asks for nothing."""
    made: dict[str, Any] = {}
    if given.get("align"):
        made["ParaAdjust"] = uno.Enum("com.sun.star.style.ParagraphAdjust", _ADJUST[given["align"]])
    if given.get("line_spacing") is not None:
        spacing = uno.createUnoStruct("com.sun.star.style.LineSpacing")
        spacing.Mode, spacing.Height = 0, round(given["line_spacing"] * 100)
        made["ParaLineSpacing"] = spacing
    for name, property_ in (
        ("left_cm", "ParaLeftMargin"),
        ("first_line_cm", "ParaFirstLineIndent"),
    ):
        if given.get(name) is not None:
            made[property_] = hundredths(given[name])
    for name, property_ in (("before_pt", "ParaTopMargin"), ("after_pt", "ParaBottomMargin")):
        if given.get(name) is not None:
            made[property_] = hundredths(given[name] * 2.54 / 72)
    return made


_PAPERS = {
    "A3": (29700, 42000),
    "A4": (21000, 29700),
    "A5": (14800, 21000),
    "letter": (21590, 27940),
    "legal": (21590, 35560),
}


def set_paper(style: Any, paper: str, landscape: bool | None) -> None:
    """Sets the size of a page style's paper, or its orientation, or both."""
    wide = style.IsLandscape if landscape is None else landscape
    short, long = _PAPERS[paper] if paper else sorted((style.Width, style.Height))
    style.IsLandscape = wide
    style.Width, style.Height = (long, short) if wide else (short, long)


def put(targets: Iterable[Any], properties: Mapping[str, Any]) -> None:
    """Sets properties, and reads them back.

    Raises:
        Refused: there are none, or one was not taken.
    """
    if not properties:
        raise Refused("nothing to set was given")
    for target in targets:
        for name, value in properties.items():
            target.setPropertyValue(name, value)
        for name, value in properties.items():
            now = target.getPropertyValue(name)
            if isinstance(value, (int, float, str)) and not _same(value, now):
                raise Refused(f"{name} is {now!r} after setting it to {value!r}")


def _same(value: Any, now: Any) -> bool:
    if isinstance(value, str) or isinstance(now, str):
        return bool(value == now)
    return now is not None and abs(float(value) - float(now)) <= 2  # kept in twips


def told_character(target: Any) -> str:
    """Returns how a text looks now, by its properties."""
    said = [f"{target.CharFontName} {target.CharHeight:g} pt"]
    said += ["bold"] if target.CharWeight > _NORMAL else []
    said += ["italic"] if target.CharPosture.value == "ITALIC" else []
    said += [f"underline {_key(_UNDERLINES, target.CharUnderline)}"] * bool(target.CharUnderline)
    said += ["struck out"] if target.CharStrikeout else []
    said += [f"colour {shown_color(target.CharColor)}"]
    behind = getattr(target, "CharBackColor", _AUTOMATIC)
    said += [f"highlight {shown_color(behind)}"] if behind != _AUTOMATIC else []
    shift = getattr(target, "CharEscapement", 0)
    said += ["superscript" if shift > 0 else "subscript"] if shift else []
    return ", ".join(said)


def _key(table: Mapping[str, int], number: int) -> str:
    return next((name for name, value in table.items() if value == number), str(number))


def told_paragraph(target: Any) -> str:
    """Returns how a paragraph looks now, by its properties."""
    align = {value: name for name, value in _ADJUST.items()}
    adjust = target.ParaAdjust
    word = getattr(adjust, "value", None) or ("LEFT", "RIGHT", "BLOCK", "CENTER", "BLOCK")[adjust]
    spacing = target.ParaLineSpacing
    lines = f"{spacing.Height / 100:g}" if spacing.Mode == 0 else f"{spacing.Height / 1000:g} cm"
    said = [f"align {align.get(word, word.lower())}", f"line spacing {lines}"]
    for name, label in (
        ("ParaLeftMargin", "left"),
        ("ParaFirstLineIndent", "first line"),
    ):
        value = getattr(target, name)
        said += [f"{label} {value / 1000:g} cm"] if value else []
    for name, label in (("ParaTopMargin", "before"), ("ParaBottomMargin", "after")):
        value = getattr(target, name)
        said += [f"{label} {value / 1000 / 2.54 * 72:.1f} pt"] if value else []
    return ", ".join(said)
