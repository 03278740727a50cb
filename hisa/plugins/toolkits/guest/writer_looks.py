"""Sets how text and paragraphs look, in a text document and in text boxes of slides alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import uno  # type: ignore[import-not-found]

from .office_bridge import Refused

__all__ = [
    "COLORS",
    "character",
    "color",
    "describe_character",
    "describe_paragraph",
    "paragraph",
    "put",
]

_SCRIPTS = ("", "Asian", "Complex")
"""Western, Asian and right-to-left scripts have properties of their own."""
_UNDERLINES = {"none": 0, "single": 1, "double": 2, "dotted": 3, "dashed": 5, "wavy": 10}
_ADJUST = {"left": "LEFT", "right": "RIGHT", "center": "CENTER", "justify": "BLOCK"}
_SHIFTS = {"normal": (0, 100), "superscript": (14000, 58), "subscript": (-14000, 58)}
"""As the menus set them: 14000 is as high as the font says, at 58 % of its size."""
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
    """Returns a colour's number, from a name, "#rrggbb" or "#rgb"; -1 for "none".

    Raises:
        Refused: it is not a colour.
    """
    word = text.strip().lower()
    if word in COLORS:
        return COLORS[word]
    digits = word.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    try:
        if len(digits) == 6:
            return int(digits, 16)
    except ValueError:
        pass
    raise Refused(f"{text!r} is no colour; try #ff8800, or {', '.join(list(COLORS)[:10])}")


def shown_color(number: int) -> str:
    """Returns a colour as #rrggbb, or "automatic"."""
    return "automatic" if number == _AUTOMATIC else f"#{number & 0xFFFFFF:06x}"


def character(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties of characters that the options ask for; None asks for nothing.

    Raises:
        Refused: a colour is not one.
    """
    properties: dict[str, Any] = {}
    wide = {}
    if options.get("bold") is not None:
        wide["CharWeight"] = _BOLD if options["bold"] else _NORMAL
    if options.get("italic") is not None:
        slant = "ITALIC" if options["italic"] else "NONE"
        wide["CharPosture"] = uno.Enum("com.sun.star.awt.FontSlant", slant)
    if options.get("size") is not None:
        wide["CharHeight"] = float(options["size"])
    if options.get("font"):
        wide["CharFontName"] = options["font"]
    for name, value in wide.items():
        properties.update({f"{name}{script}": value for script in _SCRIPTS})
    if options.get("underline"):
        properties["CharUnderline"] = _UNDERLINES[options["underline"]]
    if options.get("strike") is not None:
        properties["CharStrikeout"] = 1 if options["strike"] else 0
    if options.get("color"):
        properties["CharColor"] = color(options["color"])
    if options.get("highlight"):
        properties["CharBackColor"] = color(options["highlight"])
    if options.get("position"):
        properties["CharEscapement"], properties["CharEscapementHeight"] = _SHIFTS[
            options["position"]
        ]
    return properties


def hundredths(centimetres: float) -> int:
    """Returns a length in hundredths of a millimetre."""
    return round(centimetres * 1000)


def paragraph(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties of paragraphs that the options ask for; None asks for nothing."""
    properties: dict[str, Any] = {}
    if options.get("align"):
        properties["ParaAdjust"] = uno.Enum(
            "com.sun.star.style.ParagraphAdjust", _ADJUST[options["align"]]
        )
    if options.get("line_spacing") is not None:
        spacing = uno.createUnoStruct("com.sun.star.style.LineSpacing")
        spacing.Mode, spacing.Height = 0, round(options["line_spacing"] * 100)
        properties["ParaLineSpacing"] = spacing
    for name, property_ in (
        ("left_cm", "ParaLeftMargin"),
        ("first_line_cm", "ParaFirstLineIndent"),
    ):
        if options.get(name) is not None:
            properties[property_] = hundredths(options[name])
    for name, property_ in (("before_pt", "ParaTopMargin"), ("after_pt", "ParaBottomMargin")):
        if options.get(name) is not None:
            properties[property_] = hundredths(options[name] * 2.54 / 72)
    return properties


_PAPERS = {
    "A3": (29700, 42000),
    "A4": (21000, 29700),
    "A5": (14800, 21000),
    "letter": (21590, 27940),
    "legal": (21590, 35560),
}


def set_paper(style: Any, paper: str, landscape: bool | None) -> None:
    """Sets the size of a page style's paper, or its orientation, or both.

    Args:
        style: the page style, as UNO gives it.
        paper: one of `_PAPERS`; empty: its present size.
        landscape: the orientation; None: its present one.
    """
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


def describe_character(target: Any) -> str:
    """Returns how a text looks now, by its properties."""
    parts = [f"{target.CharFontName} {target.CharHeight:g} pt"]
    parts += ["bold"] if target.CharWeight > _NORMAL else []
    parts += ["italic"] if target.CharPosture.value == "ITALIC" else []
    parts += [f"underline {_name_of(_UNDERLINES, target.CharUnderline)}"] * bool(
        target.CharUnderline
    )
    parts += ["struck out"] if target.CharStrikeout else []
    parts += [f"colour {shown_color(target.CharColor)}"]
    behind = getattr(target, "CharBackColor", _AUTOMATIC)
    parts += [f"highlight {shown_color(behind)}"] if behind != _AUTOMATIC else []
    shift = getattr(target, "CharEscapement", 0)
    parts += ["superscript" if shift > 0 else "subscript"] if shift else []
    return ", ".join(parts)


def _name_of(table: Mapping[str, int], number: int) -> str:
    return next((name for name, value in table.items() if value == number), str(number))


def describe_paragraph(target: Any) -> str:
    """Returns how a paragraph looks now, by its properties."""
    align = {value: name for name, value in _ADJUST.items()}
    adjust = target.ParaAdjust
    word = getattr(adjust, "value", None) or ("LEFT", "RIGHT", "BLOCK", "CENTER", "BLOCK")[adjust]
    spacing = target.ParaLineSpacing
    lines = f"{spacing.Height / 100:g}" if spacing.Mode == 0 else f"{spacing.Height / 1000:g} cm"
    parts = [f"align {align.get(word, word.lower())}", f"line spacing {lines}"]
    for name, label in (
        ("ParaLeftMargin", "left"),
        ("ParaFirstLineIndent", "first line"),
    ):
        value = getattr(target, name)
        parts += [f"{label} {value / 1000:g} cm"] if value else []
    for name, label in (("ParaTopMargin", "before"), ("ParaBottomMargin", "after")):
        value = getattr(target, name)
        parts += [f"{label} {value / 1000 / 2.54 * 72:.1f} pt"] if value else []
    return ", ".join(parts)
