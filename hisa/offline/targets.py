"""Names of things on the screen, read from English: "the Save button", "File > Save As"."""

from __future__ import annotations

import re

from hisa.offline.quotes import Masked
from hisa.offline.records import Target
from hisa.offline.sheets import is_cell, is_sheet

__all__ = ["KINDS", "is_context", "read_path", "read_target"]

KINDS = {
    "menu item": "menu item",
    "menu entry": "menu item",
    "menu option": "menu item",
    "context menu item": "menu item",
    "menu": "menu",
    "menu button": "menu",
    "radio button": "radio button",
    "radio box": "radio button",
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
    "drop-down button": "arrow of button",
    "drop down button": "arrow of button",
    "dropdown button": "arrow of button",
    "drop-down arrow": "arrow of button",
    "dropdown arrow": "arrow of button",
    "drop down panel": "combo box",
    "drop down list": "combo box",
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
    "sheet": "tab",
    "worksheet": "tab",
    "list": "list",
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

_SYMBOLS = {"%": "Percent", "Σ": "Select Function", "B": "Bold", "I": "Italic", "U": "Underline"}
"""Signs on buttons of an office toolbar, and the names of these buttons."""
_KIND = "|".join(sorted(map(re.escape, KINDS), key=len, reverse=True))
_LEAD = re.compile(r"(?:(?:on|at|to|in|into|over|onto|inside|the|a|an|that|this|its)\s+)+", re.I)
_PLACES = (
    "toolbar|tool bar|dialog|dialogue|window|sidebar|top|bottom|left|right|screen|page|list|panel"
    "|pop-?up|spreadsheet|sheet|editor|title bar|menu bar|desktop|application|app|document"
    "|browser|terminal|form|selector|table|taskbar|dock"
)
_CONTEXT = re.compile(
    rf"\s+(?:in|on|of|at|from|inside|within)\s+(?:the\s+)?(?:[\w-]+\s+){{0,3}}(?:{_PLACES})"
    r"(?:\s+(?:box|area|window))?$",
    re.I,
)
_SIDE = re.compile(
    r"\s+(?:on|at|to|in|from)\s+(?:the\s+)?(?:very\s+)?(?:top|bottom|left|right|upper|lower)\b"
    r"[^\ue000]*$",
    re.I,
)
_WHOLE_PLACE = re.compile(
    rf"(?:the\s+)?(?:[\w-]+\s+){{0,3}}(?:{_PLACES})(?:\s+(?:box|area|window))?", re.I
)
_NAMED = re.compile(
    r"\s*(?:labell?ed|called|named|titled|saying|that says|with the (?:text|label|name))\s*", re.I
)
_ARROW = re.compile(r"\s*(?:>|→|▸|➔|⟶|›|->|=>)\s*")
_IN_MENU = re.compile(
    r"^(?P<item>.+?)\s+(?:in|from|under|inside|of)\s+(?:the\s+)?(?!the\b)(?P<menu>.+?)\s+menu$",
    re.I,
)
_MENU_FIRST = re.compile(
    r"^(?P<item>.+?)\s+(?:in|from|under)\s+(?:the\s+)?menu\s+(?P<menu>.+)$", re.I
)


_BESIDE = re.compile(
    r"^(?P<thing>.*?)\s+(?:\w+ing\s+)?(?:(?:just|right|directly)\s+)?"
    r"(?P<where>under|below|beneath|above|after|right of|left of|next to|beside)\s+(?P<anchor>.+)$",
    re.I | re.S,
)
_SIDES = {"under": "below", "beneath": "below", "after": "right of", "beside": "next to"}
_CORNER = re.compile(
    r"(?:the\s+)?(?:bottom|lower|right)[- ](?:right|bottom|lower)?[- ]?corner\s+of\s+"
    r"(?:(?:this|that|the)\s+(?:cell|entry)"
    r"|(?:the\s+)?(?:(?:cell|entry)\s+)?(?P<cell>\$?[A-Z]{1,3}\$?\d+))",
    re.I,
)


def is_context(place: str) -> bool:
    """Whether a place is only where to look ("the toolbar", "the Save As dialog")."""
    return _WHOLE_PLACE.fullmatch(place.strip()) is not None


def _without_lead(text: str) -> str:
    found = _LEAD.match(text.strip())
    return text.strip()[found.end() :] if found else text.strip()


def read_target(text: str, masked: Masked) -> Target | None:
    """The thing a phrase names; None where nothing is named."""
    bare = _without_lead(text)
    if corner := _CORNER.fullmatch(masked.plain(bare)):
        return Target((corner["cell"] or "").replace("$", ""), "corner")
    if beside := _beside(bare, masked):
        return beside
    bare = _CONTEXT.sub("", _SIDE.sub("", bare)).strip(" ,")
    quoted = masked.first(bare)
    if quoted is not None:
        return _quoted(quoted, bare)
    if not bare:
        return None
    if bare.lower() in KINDS:
        return Target("", KINDS[bare.lower()])
    if last := re.fullmatch(rf"(.+?)\s+({_KIND})", bare, re.I):
        return _known(_bare_name(last[1]), KINDS[last[2].lower()])
    if first := re.fullmatch(rf"({_KIND})\s+(.+)", bare, re.I):
        return _known(_bare_name(first[2]), KINDS[first[1].lower()])
    return _known(bare, "")


def _known(name: str, kind: str) -> Target:
    """A target whose name may tell more than the word for it: ``A1`` is a cell, ``%`` a button."""
    if is_cell(name) and kind in ("", "item", "field", "box", "cell"):
        return Target(name.replace("$", ""), "cell")
    if kind == "button" and name in _SYMBOLS:
        return Target(_SYMBOLS[name], kind)
    return Target(name, "tab" if not kind and is_sheet(name) else kind)


def _beside(phrase: str, masked: Masked) -> Target | None:
    """A thing told by its kind and by what it stands beside: "the input box after X"."""
    found = _BESIDE.match(phrase)
    kind = KINDS.get(found["thing"].lower().strip()) if found else None
    anchor = _CONTEXT.sub("", found["anchor"]) if found and kind else ""
    name = masked.first(anchor)
    if found is None or kind is None or name is None:
        return None
    where = found["where"].lower()
    return Target("", kind, f'{_SIDES.get(where, where)} "{name}"')


def _quoted(name: str, phrase: str) -> Target | None:
    words = re.sub(Masked.SLOT, " ", phrase)
    kinds = re.findall(rf"\b({_KIND})\b", words, re.I)
    return _known(name.strip(), KINDS[kinds[0].lower()] if kinds else "") if name.strip() else None


def _bare_name(text: str) -> str:
    return _NAMED.sub("", text, count=1).strip() if _NAMED.match(text) else text.strip()


def read_path(text: str, masked: Masked) -> tuple[Target, ...]:
    """One target a click: "File > Save As" and "Save As in the File menu" are two."""
    parts = _ARROW.split(text)
    if len(parts) == 1 and (quoted := masked.first(text)) is not None and _is_menu(text):
        inside = _ARROW.split(quoted)
        if len(inside) > 1 and all(part.strip() for part in inside):
            return _menu_path(
                [Target(_without_lead(inside[0])), *(Target(part.strip()) for part in inside[1:])]
            )
    if len(parts) > 1:
        return _menu_path([read_target(part, masked) for part in parts])
    named = _IN_MENU.match(text.strip()) or _MENU_FIRST.match(text.strip())
    if named:
        return _menu_path([read_target(named["menu"], masked), read_target(named["item"], masked)])
    target = read_target(text, masked)
    return (target,) if target else ()


def _is_menu(text: str) -> bool:
    """Whether a phrase with a quotation may name a menu's entry by its path, and nothing else."""
    words = _CONTEXT.sub("", _without_lead(text))
    words = re.sub(Masked.SLOT, "", words).strip(" .").lower()
    return words in ("", "menu", "button", "menu button", "menu item", "option", "entry", "item")


def _menu_path(targets: list[Target | None]) -> tuple[Target, ...]:
    known = [target for target in targets if target is not None]
    if len(known) != len(targets):
        return ()
    head, *rest = known
    return (
        Target(head.name, head.kind or "menu"),
        *(Target(target.name, target.kind or "menu item") for target in rest),
    )
