"""Names of things on the screen, read from English: "the Save button", "File > Save As"."""

from __future__ import annotations

import re

from hisa.models.offline.quotes import Masked
from hisa.models.offline.records import Target

__all__ = ["KINDS", "is_cell", "is_context", "read_path", "read_target"]

KINDS = {
    "menu item": "menu item",
    "menu entry": "menu item",
    "menu option": "menu item",
    "context menu item": "menu item",
    "menu": "menu",
    "radio button": "radio button",
    "toolbar button": "button",
    "push button": "button",
    "toggle button": "button",
    "button": "button",
    "check box": "check box",
    "checkbox": "check box",
    "tick box": "check box",
    "text field": "field",
    "input field": "field",
    "text box": "field",
    "textbox": "field",
    "input box": "field",
    "search box": "field",
    "search field": "field",
    "address bar": "field",
    "entry field": "field",
    "field": "field",
    "input": "field",
    "text area": "text area",
    "combo box": "combo box",
    "dropdown list": "combo box",
    "drop-down list": "combo box",
    "dropdown menu": "combo box",
    "drop-down menu": "combo box",
    "dropdown": "combo box",
    "drop-down": "combo box",
    "list item": "list item",
    "list entry": "list item",
    "item": "item",
    "entry": "item",
    "option": "option",
    "row": "row",
    "tab": "tab",
    "link": "link",
    "cell": "cell",
    "icon": "icon",
    "slider": "slider",
    "label": "label",
    "column header": "column header",
    "box": "box",
    "text": "text",
    "word": "text",
}
"""Words for kinds of things, and the one word used for each in a description."""

_KIND = "|".join(sorted(map(re.escape, KINDS), key=len, reverse=True))
_LEAD = re.compile(r"(?:(?:on|at|to|in|into|over|onto|inside|the|a|an|that|this|its)\s+)+", re.I)
_PLACES = (
    "toolbar|tool bar|dialog|dialogue|window|sidebar|top|bottom|left|right|screen|page|list|panel"
    "|pop-?up|spreadsheet|sheet|editor|title bar|menu bar|desktop|application|app|document"
    "|browser|terminal|form|table|taskbar|dock"
)
_CONTEXT = re.compile(
    rf"\s+(?:in|on|of|at|from|inside|within)\s+(?:the\s+)?(?:[\w-]+\s+){{0,3}}(?:{_PLACES})"
    r"(?:\s+(?:box|area|window))?$",
    re.I,
)
_WHOLE_PLACE = re.compile(
    rf"(?:the\s+)?(?:[\w-]+\s+){{0,3}}(?:{_PLACES})(?:\s+(?:box|area|window))?", re.I
)
_CELL = re.compile(r"[A-Z]{1,3}[1-9][0-9]{0,6}")
_RANGE = re.compile(
    r"([A-Z]{1,3}[1-9][0-9]{0,6})(?:\s*(?::|to|through|-|–)\s*)([A-Z]{1,3}[1-9][0-9]{0,6})", re.I
)
_NAMED = re.compile(
    r"\s*(?:labell?ed|called|named|titled|saying|that says|with the (?:text|label|name))\s*", re.I
)
_ARROW = re.compile(r"\s*(?:>|→|▸|➔|⟶|›|->|=>)\s*")
_IN_MENU = re.compile(
    r"^(?P<item>.+?)\s+(?:in|from|under|inside|of)\s+(?:the\s+)?(?P<menu>.+?)\s+menu$", re.I
)
_MENU_FIRST = re.compile(
    r"^(?P<item>.+?)\s+(?:in|from|under)\s+(?:the\s+)?menu\s+(?P<menu>.+)$", re.I
)


def is_cell(text: str) -> bool:
    """Whether the text is a cell's address, such as B2."""
    return _CELL.fullmatch(text) is not None


def read_range(text: str) -> str | None:
    """A cell or a range of cells as ``A1`` or ``A1:B3``; None for anything else."""
    bare = re.sub(r"^(?:the\s+)?(?:cells?|range)\s+", "", text.strip(), flags=re.I)
    found = _RANGE.fullmatch(bare)
    if found:
        return f"{found[1].upper()}:{found[2].upper()}"
    return (
        bare.upper() if is_cell(bare.upper()) and (is_cell(bare) or bare != text.strip()) else None
    )


def is_context(place: str) -> bool:
    """Whether a place is only where to look ("the toolbar", "the Save As dialog")."""
    return _WHOLE_PLACE.fullmatch(place.strip()) is not None


def read_target(text: str, masked: Masked) -> Target | None:
    """The thing a phrase names; None where nothing is named."""
    bare = _LEAD.sub("", text.strip(), count=1) if _LEAD.match(text.strip()) else text.strip()
    bare = _CONTEXT.sub("", bare).strip(" ,")
    quoted = masked.first(bare)
    if quoted is not None:
        return _quoted(quoted, bare)
    if not bare:
        return None
    if bare.lower() in KINDS:
        return Target("", KINDS[bare.lower()])
    if last := re.fullmatch(rf"(.+?)\s+({_KIND})", bare, re.I):
        return Target(_bare_name(last[1]), KINDS[last[2].lower()])
    if first := re.fullmatch(rf"({_KIND})\s+(.+)", bare, re.I):
        return Target(_bare_name(first[2]), KINDS[first[1].lower()])
    return Target(bare, "cell" if is_cell(bare) else "")


def _quoted(name: str, phrase: str) -> Target | None:
    words = re.sub(Masked.SLOT, " ", phrase)
    kinds = re.findall(rf"\b({_KIND})\b", words, re.I)
    kind = KINDS[kinds[0].lower()] if kinds else ("cell" if is_cell(name) else "")
    return Target(name.strip(), kind) if name.strip() else None


def _bare_name(text: str) -> str:
    return _NAMED.sub("", text, count=1).strip() if _NAMED.match(text) else text.strip()


def read_path(text: str, masked: Masked) -> tuple[Target, ...]:
    """One target a click: "File > Save As" and "Save As in the File menu" are two."""
    parts = _ARROW.split(text)
    if len(parts) == 1 and masked.is_quoted(_LEAD.sub("", text.strip(), count=1)):
        inside = _ARROW.split(masked.plain(text))
        if len(inside) > 1 and all(part.strip() for part in inside):
            first = _LEAD.sub("", inside[0].strip(), count=1)
            return _menu_path([Target(first), *(Target(part.strip()) for part in inside[1:])])
    if len(parts) > 1:
        return _menu_path([read_target(part, masked) for part in parts])
    named = _IN_MENU.match(text.strip()) or _MENU_FIRST.match(text.strip())
    if named:
        return _menu_path([read_target(named["menu"], masked), read_target(named["item"], masked)])
    target = read_target(text, masked)
    return (target,) if target else ()


def _menu_path(targets: list[Target | None]) -> tuple[Target, ...]:
    known = [target for target in targets if target is not None]
    if len(known) != len(targets):
        return ()
    head, *rest = known
    return (
        Target(head.name, head.kind or "menu"),
        *(Target(target.name, target.kind or "menu item") for target in rest),
    )
