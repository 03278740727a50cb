"""Clauses of spreadsheets and their dialogs: sheets, colours, filling, expanding, ensuring."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hisa.offline.quotes import Masked
from hisa.offline.records import Click, Drag, Instruction, Press, Target, Tick, Type
from hisa.offline.sheets import (
    EDIT,
    colour,
    is_input_line,
    is_new_sheet,
    new_sheet,
    read_range,
)
from hisa.offline.targets import read_target

__all__ = [
    "read_adding",
    "read_colouring",
    "read_dragging",
    "read_ensuring",
    "read_expanding",
    "read_making",
    "read_moving",
    "read_sheet_click",
]

_FILTER = re.compile(
    r"(?:the\s+)?(?:triangle|arrow|(?:drop-?\s?down|filter)(?: button| arrow| icon)?)\b.*?"
    r"\b(?:of|in|at|on)\s+(?:the\s+)?cell\s+(?P<cell>\$?[A-Z]{1,3}\$?\d+)\b.*",
    re.I | re.S,
)
_COLOUR = re.compile(
    r"(?:the\s+)?(?P<what>background|fill|font|text|cell)\s+colou?r(?:\s+of\s+.+?)?"
    r"\s+(?:to|into|as)\s+(?P<colour>.+)",
    re.I | re.S,
)
_CODE = re.compile(
    r"(?:the\s+)?(?:hex\s+)?colou?r(?:\s+(?:code|value))?\s+(?:in)?to\s+"
    r"(?:\(?(?P<rgb>\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3})\)?|#?(?P<hex>[0-9a-f]{6}))",
    re.I,
)
_MADE = re.compile(
    r"(?:it|them|(?:the )?(?:text|cells?|font|selection))\s+(?P<style>[a-z]+)(?:\s+colou?r)?", re.I
)
_STYLES = {"bold": "b", "italic": "i", "underlined": "u", "centred": "e", "centered": "e"}
_DRAG = re.compile(
    r"(?:and drop\s+)?(?P<thing>.*?)\s*(?:and drop it\s+)?(?:from\s+(?P<start>.+?)\s+)?"
    r"(?:until\s+)?\b(?:to|onto|into|on top of|over)\s+(?P<end>.+)",
    re.I | re.S,
)
_POINTER = re.compile(
    r"(?:it|down|right|left|up|(?:the\s+)?(?:mouse|cursor|pointer|fill handle|corner))"
    r"(?:\s+(?:down|right|left|up))?(?:\s+until)?|",
    re.I,
)
_ENSURED = re.compile(
    r"(?:sure\s+)?(?:that\s+)?(?P<things>.+?)\s+(?:is|are)\s+(?:both\s+|all\s+)?"
    r"(?P<state>chosen|selected|checked|ticked|enabled|unchecked|unticked|disabled)",
    re.I | re.S,
)
_MOVED = re.compile(
    r"(?:(?:the|your)\s+)?(?:mouse|cursor|pointer)\s+(?:to|over|onto)\s+(?P<place>.+?)"
    r"(?:\s+to see\b.*)?",
    re.I | re.S,
)

Found = Sequence[Instruction]


def read_sheet_click(rest: str, masked: Masked) -> Found:
    """Read clicks on what a key or a menu reaches better: the input line, a filter's arrow."""
    if is_input_line(masked.plain(rest)):
        return (EDIT,)
    if arrow := _FILTER.fullmatch(masked.plain(rest)):
        return (
            Click(
                Target(arrow["cell"].replace("$", ""), "cell"),
            ),
            Press(("alt", "down")),
        )
    target = read_target(rest, masked)
    return new_sheet() if target and is_new_sheet(target.name) else ()


def read_adding(rest: str, masked: Masked) -> Found:
    """Read "add a new sheet"."""
    return new_sheet() if re.fullmatch(r"(?:a|another) (?:new )?(?:work)?sheet", rest, re.I) else ()


def read_colouring(rest: str, masked: Masked) -> Found:
    """Read "the background color of X to Blue", and "the color code to (0, 0, 255)" in a dialog."""
    if code := _CODE.fullmatch(masked.plain(rest)):
        parts = [int(part) for part in code["rgb"].split(",")] if code["rgb"] else []
        text = "".join(f"{part:02x}" for part in parts) or code["hex"]
        return (
            (Type(text, Target("Hex", "field"), replace=True),)
            if max(parts, default=0) < 256
            else ()
        )
    found = _COLOUR.fullmatch(rest)
    name = masked.plain(found["colour"]) if found else ""
    return colour(found["what"], name) if found and re.fullmatch(r"[A-Za-z ]+\d?", name) else ()


def read_expanding(rest: str, masked: Masked) -> Found:
    """Read "expand the Options section"."""
    target = read_target(re.sub(r"\s+(?:section|part|group)$", "", rest), masked)
    return (Click(target),) if target else ()


def read_making(rest: str, masked: Masked) -> Found:
    """Read "it bold" and "the text white"; and "sure that X is ticked"."""
    found = _MADE.fullmatch(masked.plain(rest))
    if found is None:
        return read_ensuring(rest, masked)
    key = _STYLES.get(found["style"].lower())
    return (Press(("ctrl", key)),) if key else colour("font", found["style"])


def read_ensuring(rest: str, masked: Masked) -> Found:
    """Read "ensure that the boxes X and Y are ticked"."""
    found = _ENSURED.match(rest)
    if found is None:
        return ()
    target = read_target(found["things"], masked)
    on = found["state"].lower() not in ("unchecked", "unticked", "disabled")
    names = masked.all(found["things"]) or ([target.name] if target and target.kind else [])
    return tuple(Tick(Target(name), on) for name in names)


def read_moving(rest: str, masked: Masked) -> Found:
    """Read "move the mouse to the corner of cell B2", the beginning of a fill."""
    found = _MOVED.fullmatch(rest)
    target = read_target(found["place"], masked) if found else None
    return (Click(target),) if target and target.kind == "corner" else ()


def read_dragging(rest: str, masked: Masked) -> Found:
    """Read "X to Y", "it down to B6", "from A1 to B6"."""
    if cells := read_range(re.sub(r"^(?:the\s+)?(?:mouse|cursor)\s+", "", masked.plain(rest))):
        first, _, last = cells.partition(":")
        return (Drag(Target(first, "cell"), Target(last, "cell")),) if last else ()
    found = _DRAG.fullmatch(rest)
    end = _end(found["end"], masked) if found else None
    if found is None or end is None:
        return ()
    if _POINTER.fullmatch(found["thing"]):
        return (Drag(Target("", "corner"), end),)
    thing = read_target(found["thing"], masked)
    start = masked.plain(found["start"] or "")
    if thing is None or not start:
        return (Drag(thing, end),) if thing else ()
    start = re.sub(r"^the\s+|\s+(?:box|list|area|panel)$", "", start)
    return (Drag(replace(thing, kind="item", near=f'below label "{start}"'), end),)


def _end(text: str, masked: Masked) -> Target | None:
    lines = re.fullmatch(r"(?:the\s+)?(?:column\s+([A-Z]{1,3})|row\s+(\d+))", text.strip(), re.I)
    return Target(lines[1] or lines[2], "cell") if lines else read_target(text, masked)
