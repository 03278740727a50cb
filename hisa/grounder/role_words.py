"""Words that people use for kinds of elements, and the accessibility roles they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["CONTAINERS", "FIELDS", "MULTI_LINE", "Kind", "find_kind"]

FIELDS = frozenset(
    {"text", "entry", "password text", "combo box", "spin button", "search box", "text box"}
    | {"editbar", "date editor", "autocomplete", "terminal"}
)
"""Roles that take text or a value and are named by their label."""

MULTI_LINE = frozenset({"multi-line", "multi line"})
"""The state of a text that has several lines, as collectors spell it."""

CONTAINERS = frozenset(
    {"frame", "window", "dialog", "alert", "panel", "filler", "application", "scroll pane"}
    | {"root pane", "layered pane", "split pane", "viewport", "section", "grouping", "form"}
    | {"file chooser", "option pane", "internal frame", "desktop frame", "page tab list"}
    | {"menu bar", "tool bar", "table", "list", "list box", "tree", "tree table", "document frame"}
)
"""Roles that hold others; chosen only when asked for or when nothing inside fits."""


@dataclass(frozen=True)
class Kind:
    """A kind of element: a word for it, its roles, and other roles that often play its part."""

    word: str
    roles: frozenset[str]
    also: frozenset[str] = frozenset()
    large: bool = False
    """Of several, the largest is meant: "the text area"."""
    names: tuple[str, ...] = ()
    """What such an element is usually called, where the word says so: "the address bar"."""


def _kind(word: str, roles: str, also: str = "", *, large: bool = False, names: str = "") -> Kind:
    usual = tuple(name.strip() for name in names.split(",") if name)
    return Kind(word, _set(roles), _set(also), large, usual)


def _set(names: str) -> frozenset[str]:
    return frozenset(name.strip() for name in names.split(",") if name.strip())


_BUTTON = "push button, button, toggle button, push button menu, split button"
_TAB = "page tab, tab"
_CHECK = "check box, check menu item, toggle switch, switch"
_RADIO = "radio button, radio menu item"
_FIELD_ROLES = ", ".join(sorted(FIELDS))
_FIELD_LIKE = "paragraph, document text, section"
_ITEM = "list item, menu item, tree item, option, table cell, icon"

# Words of each kind, then the kind. The longest word that fits decides.
_TABLE: tuple[tuple[str, Kind], ...] = (
    (
        "check box|checkbox|tick box|tickbox|toggle|switch",
        _kind("checkbox", _CHECK, "toggle button, table cell"),
    ),
    ("radio button|radio option", _kind("radio button", _RADIO)),
    (
        "push button|toolbar button|tool button|button|btn",
        _kind("button", _BUTTON, "link, icon, menu, menu item, radio button, page tab"),
    ),
    (
        "menu item|menu entry|menu option|menu command|submenu",
        _kind("menu item", "menu item, check menu item, radio menu item, menu"),
    ),
    ("menu", _kind("menu", "menu", "menu item, push button, push button menu, toggle button")),
    ("menu bar|menubar", _kind("menu bar", "menu bar")),
    ("tool bar|toolbar", _kind("tool bar", "tool bar")),
    ("status bar|statusbar", _kind("status bar", "status bar, statusbar")),
    ("side bar|sidebar|side panel", _kind("sidebar", "list, list box, tree, tree table")),
    (
        "box|text field|text box|textbox|text input|input field|input box|input|entry field|entry|"
        "edit box|edit field|field|password field",
        _kind("field", _FIELD_ROLES, _FIELD_LIKE),
    ),
    (
        "address bar|url bar|location bar|address field",
        _kind(
            "address bar",
            _FIELD_ROLES,
            names="address and search bar, location, address bar, search or enter address",
        ),
    ),
    (
        "search bar|search box|search field",
        _kind("search box", _FIELD_ROLES, _FIELD_LIKE, names="search, search box, find"),
    ),
    (
        "formula bar|input line",
        _kind("formula bar", _FIELD_ROLES, _FIELD_LIKE, names="input line, formula bar, formula"),
    ),
    ("name box", _kind("name box", _FIELD_ROLES, names="name box, name")),
    (
        "text area|textarea|text editing area|editing area|text editor|editor area|edit area|"
        "document area|document body|text view|editor|document|page body|writing area",
        _kind(
            "text area", "text, document text, document web, terminal", "document frame", large=True
        ),
    ),
    (
        "combo box|combobox|dropdown|drop-down|dropdown list|drop-down list|dropdown menu|"
        "drop-down menu|select box|selector|combo",
        _kind("drop-down", "combo box", "push button, toggle button, menu, list box, text, entry"),
    ),
    ("spin button|spin box|spinner|number field", _kind("spin button", "spin button", "text")),
    ("slider", _kind("slider", "slider")),
    ("scroll bar|scrollbar", _kind("scroll bar", "scroll bar")),
    ("tab|page tab|sheet tab", _kind("tab", _TAB, "radio button, push button, toggle button")),
    ("cell|table cell|spreadsheet cell", _kind("cell", "table cell, cell")),
    ("row|table row|line", _kind("row", "table row, row", "list item, tree item, table cell")),
    (
        "table column header|column header|column heading|header",
        _kind("column header", "table column header, column header, heading", "push button, label"),
    ),
    ("list item|list entry|tree item|item|entry in|option|choice|result", _kind("item", _ITEM)),
    ("file|folder|directory", _kind("file", "table cell, icon, list item, tree item", "label")),
    (
        "hyperlink|link",
        _kind("link", "link, hyper link", "push button, button, menu item, label, list item"),
    ),
    ("icon|image|picture|logo", _kind("icon", "icon, image", f"{_BUTTON}, label, list item, link")),
    ("text", _kind("text", "text, label, static, paragraph, heading, section, link")),
    ("label|caption", _kind("label", "label, static, paragraph, heading, text, section")),
    ("heading|title", _kind("heading", "heading, label")),
    ("dialog|dialog box|dialogue", _kind("dialog", "dialog, alert, file chooser, frame")),
    ("window", _kind("window", "frame, window, dialog")),
    ("list box|listbox|list", _kind("list", "list, list box, tree, tree table, table")),
    ("table|grid|spreadsheet|sheet", _kind("table", "table, tree table, document spreadsheet")),
    ("panel|pane|section|area", _kind("panel", "panel, section, grouping, scroll pane")),
)

_OTHER_ROLES = _set(
    "toggle button, check menu item, radio menu item, password text, paragraph, terminal, canvas, "
    "document web, document text, document spreadsheet, document frame, push button menu, frame, "
    "tree table, tree item, popup menu, static, alert, tool tip, split pane, option pane, "
    "file chooser, table row, progress bar, level bar, page tab list, table row header, row header"
)
"""Accessibility roles that have no everyday word of their own; each stands for itself."""

_WEAK = frozenset(
    {"text", "label", "caption", "title", "heading", "header", "file", "folder", "directory"}
    | {"box", "line", "list", "table", "grid", "sheet", "image", "picture", "logo", "icon"}
    | {"section", "area", "panel", "pane", "option", "choice", "result", "window", "dialog"}
    | {"editor", "document", "menu", "item", "tab", "row", "cell", "link", "toggle", "switch"}
    | {"input", "paragraph", "terminal", "canvas", "frame", "static", "alert"}
)
"""Kind words that may well be part of a name ("checkbox wrap text"): stronger words go first."""

_KINDS = {role: Kind(role, frozenset({role})) for role in _OTHER_ROLES} | {
    word: kind for words, kind in _TABLE for word in words.split("|")
}


def _patterns(words: Iterable[str]) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """The words at the end, at the start, and anywhere."""
    one = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return (
        re.compile(rf"(?:^|(?<=\s))({one})s?$"),
        re.compile(rf"^({one})(?=\s|$)"),
        re.compile(rf"(?:^|(?<=\s))({one})(?=\s|$)"),
    )


_STRONG_LAST, _STRONG_FIRST, _STRONG_ANY = _patterns(_KINDS.keys() - _WEAK)
_WEAK_LAST, _WEAK_FIRST, _WEAK_ANY = _patterns(_WEAK)
_SEARCHES = (_STRONG_LAST, _STRONG_FIRST, _WEAK_LAST, _WEAK_FIRST, _STRONG_ANY, _WEAK_ANY)


def find_kind(text: str) -> tuple[Kind | None, str]:
    """The kind named in lower-case words, and the words without it.

    The word at the end decides ("menu item" in "save as menu item"), else the one at the start
    ("checkbox wrap text"), else any.
    """
    for pattern in _SEARCHES:
        if found := pattern.search(text):
            rest = f"{text[: found.start()]} {text[found.end() :]}"
            return _KINDS[found[1]], " ".join(rest.split())
    return None, text
