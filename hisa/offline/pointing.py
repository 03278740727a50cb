"""Descriptions of things to point at, by what the screen lists."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hisa.offline.records import Target
from hisa.offline.screen import Screen

__all__ = ["MENUS", "Pointed", "missing", "point", "unlisted"]

_NOUN = re.compile(
    r"^(?:column|row|field|sheet)\s+|\s+(?:chart|graph|type|style|option|entry|button|field)$", re.I
)
"""A word for the thing that may be no part of its name: "Pie" as "Pie chart", "A" as "Column A"."""
_PLACE = "X_COORD, Y_COORD"
_USUAL_MENUS = {
    "file": (
        "new open save save as export export as pdf print print preview close quit exit properties"
        " recent reload"
    ),
    "edit": "undo redo cut copy paste paste special select all delete find replace preferences",
    "view": "zoom zoom in zoom out full screen fullscreen toolbars sidebar status bar line numbers",
    "search": "find next find previous find and replace go to",
    "insert": "image chart table function hyperlink comment pivot table row column",
    "format": "bold italic underline cells paragraph character font",
    "tools": "options settings macros spelling",
    "data": "sort sort ascending sort descending autofilter filter validity",
    "help": "about contents",
}


MENUS = frozenset(_USUAL_MENUS)
"""Names of the menus that applications usually have."""


@dataclass(frozen=True, slots=True)
class Pointed:
    """How to point: the arguments of a click, and the description for their placeholders."""

    at: str
    description: str


def point(target: Target, screen: Screen, *, tries: int, editable: bool = False) -> Pointed:
    """Another way each time: as listed, at the listed place, and by the bare name."""
    if tries == 0 and (under := screen.below(target)) is not None:
        return Pointed(f"{under.x}, {under.y}", "")
    if target.near or target.kind.startswith("arrow"):
        return Pointed(_PLACE, _beside(target, tries))
    item = screen.find(target, editable=editable)
    if not target.name and (item is None or tries != 1):
        return Pointed(_PLACE, str(target))
    if item is None:
        name = _NOUN.sub("", target.name) if tries > 1 else target.name
        return Pointed(_PLACE, str(target) if tries == 0 else f'"{name}"')
    if tries == 1:
        return Pointed(f"{item.x}, {item.y}", "")
    return Pointed(_PLACE, item.description if tries == 0 else f'"{target.name}"')


def _beside(target: Target, tries: int) -> str:
    """What stands below a heading may also stand beside it, in the heading's panel."""
    bare = str(replace(target, near=""))
    heading = target.near.removeprefix("below ")
    return (
        f"{bare} in the {heading} panel" if tries == 1 and heading != target.near else str(target)
    )


def unlisted(target: Target, screen: Screen) -> Pointed | None:
    """The menu to open for an entry that is not listed; None where there is no such menu."""
    wanted = target.name.casefold().rstrip(".… ")
    for menu, entries in _USUAL_MENUS.items():
        if f" {wanted} " not in f" {entries} ":
            continue
        shown = screen.find(Target(menu, "menu"))
        if shown is not None and shown.role == "menu":
            return Pointed(_PLACE, shown.description)
    return None


def missing(target: Target, screen: Screen, when: str) -> str:
    """Why a thing is given up: its name, and the names on the screen that are most like it."""
    nearest = ", ".join(screen.nearest(target.name))
    tail = f"; nearest on the screen: {nearest}" if nearest else ""
    return f"{target} was not found {when}{tail}"
