"""Maps the words that people use for kinds of elements to accessibility roles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from hisa.screen.roles import FIELDS

__all__ = ["Kind", "find_kind", "names_kind"]


@dataclass(frozen=True)
class Kind:
    """A kind of element: a word for it, its roles, and other roles that are often used for it."""

    word: str
    roles: frozenset[str]
    also: frozenset[str] = frozenset()
    large: bool = False
    """Whether the largest of several is meant, as by "the text area"."""
    names: tuple[str, ...] = ()
    """Usual names of the element, if the word implies them, as "the address bar" does."""

    @property
    def holds_value(self) -> bool:
        """Whether it takes a text or a number, which is not its name."""
        return bool(self.roles & (FIELDS | {"slider"})) and "list item" not in self.roles


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
_WRITTEN = "static, label, section, paragraph, heading, link, read text"
_ROW_ALSO = f"list item, tree item, table cell, list box option, {_WRITTEN}"

# Words of each kind, then the kind. The longest match decides.
_TABLE: tuple[tuple[str, Kind], ...] = (
    ("check box|checkbox|tick box|tickbox|tick",
     _kind("checkbox", _CHECK, "toggle button, table cell")),
    ("toggle|switch|toggle switch",
     _kind("switch", f"{_CHECK}, toggle button", "table cell, push button")),
    ("radio button|radio option|radio", _kind("radio button", _RADIO)),
    ("push button|toolbar button|tool button|button|btn|icon button|toolbar icon|toggle button",
     _kind("button", _BUTTON, "link, icon, menu, menu item, radio button, page tab")),
    ("menu item|menu entry|menu option|menu command|submenu",
     _kind("menu item", "menu item, check menu item, radio menu item, menu")),
    ("menu", _kind("menu", "menu", "menu item, push button, push button menu, toggle button")),
    ("menu bar|menubar", _kind("menu bar", "menu bar")),
    ("title bar|titlebar", _kind("title bar", "title bar")),
    ("tool bar|toolbar", _kind("tool bar", "tool bar")),
    ("status bar|statusbar", _kind("status bar", "status bar, statusbar")),
    ("side bar|sidebar|side panel", _kind("sidebar", "list, list box, tree, tree table")),
    ("text entry|text entry field|text input field|entry box|number entry|date input|date field|"
     "time field|time input|time input field|email field|text area field|text-entry field|"
     "form field|multi-line field|text field|text box|textbox|text input|input field|input box|"
     "input|entry field|edit box|edit field|field|selection field",
     _kind("field", _FIELD_ROLES, _FIELD_LIKE)),
    ("box", _kind("box", f"{_FIELD_ROLES}, {_CHECK}", _FIELD_LIKE)),
    ("password field|password box|password entry", _kind("field", "password text", "entry, text")),
    ("entry",
     _kind("entry", f"{_FIELD_ROLES}, {_ITEM}", f"{_WRITTEN}, page tab, check menu item, menu")),
    ("address bar|url bar|location bar|address field",
     _kind("address bar", _FIELD_ROLES,
           names="address and search bar, location, address bar, search or enter address")),
    ("search bar|search box|search field",
     _kind("search box", _FIELD_ROLES, _FIELD_LIKE, names="search, search box, find")),
    ("formula bar|input line",
     _kind("formula bar", _FIELD_ROLES, _FIELD_LIKE, names="input line, formula bar, formula")),
    ("name box", _kind("name box", _FIELD_ROLES, names="name box, name")),
    ("text area|textarea|text editing area|editing area|text editor|editor area|edit area|"
     "document area|document body|text view|editor|document|page body|writing area",
     _kind("text area", "text, document text, document web, terminal", "document frame",
           large=True)),
    ("combo box|combobox|drop-down button|dropdown button|drop-down box|dropdown box|"
     "pop-up menu button|drop-down field|dropdown|drop-down|dropdown list|drop-down list|"
     "dropdown menu|drop-down menu|select box|selector|combo",
     _kind("drop-down", "combo box", "push button, toggle button, menu, list box, text, entry")),
    ("spin button|spin box|spinbox|spinner|number field|numeric field|number box|number input|"
     "numeric input|stepper",
     _kind("spin button", "spin button", "text, entry")),
    ("slider|slider bar|slider track", _kind("slider", "slider")),
    ("handle|slider handle|thumb|knob|slider thumb|slider knob",
     _kind("handle", "slider, slider handle")),
    ("arrow|arrow button|drop-down arrow|dropdown arrow|stepper arrow|arrow icon|spin arrow|"
     "small arrow|up arrow button|down arrow button|chevron|triangle|drop-down arrow button|"
     "dropdown arrow button|stepper button|spin arrow button|increment button|decrement button",
     _kind("arrow", "arrow part, push button, toggle button, link",
           "icon, image, static, section, push button menu")),
    ("day|date cell|calendar day|date",
     _kind("day", "table cell, link, push button, button", "static, section, label, cell")),
    ("email|mail|message|suggestion|email entry", _kind("row", "table row, row", _ROW_ALSO)),
    ("scroll bar|scrollbar", _kind("scroll bar", "scroll bar")),
    ("tab|page tab|sheet tab", _kind("tab", _TAB, "radio button, push button, toggle button")),
    ("cell|table cell|spreadsheet cell",
     _kind("cell", "table cell, cell", "static, label, paragraph, read text, table column header")),
    ("row number|row header|row heading", _kind("row header", "table row header, row header")),
    ("row|table row|line|email row|list row", _kind("row", "table row, row", _ROW_ALSO)),
    ("table column header|column header|column heading|table heading|header cell|header",
     _kind("column header", "table column header, column header, heading",
           "push button, label, table cell, cell, read text, static")),
    ("list item|list entry|tree item|tree entry|sidebar entry|item|option|choice|result|"
     "shortcut|place",
     _kind("item", _ITEM, f"{_WRITTEN}, radio button, push button, check box, page tab")),
    ("file|folder|directory", _kind("file", "table cell, icon, list item, tree item", "label")),
    ("hyperlink|link",
     _kind("link", "link, hyper link", "push button, button, menu item, label, list item")),
    ("icon|image|picture|logo", _kind("icon", "icon, image", f"{_BUTTON}, label, list item, link")),
    ("text", _kind("text", "text, label, static, paragraph, heading, section, link, read text")),
    ("label|caption",
     _kind("label", "label, static, paragraph, heading, text, section, read text")),
    ("heading|title", _kind("heading", "heading, label")),
    ("dialog|dialog box|dialogue", _kind("dialog", "dialog, alert, file chooser, frame")),
    ("window", _kind("window", "frame, window, dialog")),
    ("tree|category list|checklist", _kind("tree", "tree, tree table, list, list box")),
    ("list box|listbox|list", _kind("list", "list, list box, tree, tree table, table")),
    ("table|grid|spreadsheet|sheet", _kind("table", "table, tree table, document spreadsheet")),
    ("panel|pane|section|area", _kind("panel", "panel, section, grouping, scroll pane")),
)  # fmt: skip

_OTHER_ROLES = _set(
    "toggle button, check menu item, radio menu item, password text, paragraph, terminal, canvas, "
    "document web, document text, document spreadsheet, document frame, push button menu, frame, "
    "tree table, tree item, popup menu, static, alert, tool tip, split pane, option pane, "
    "file chooser, table row, progress bar, level bar, page tab list, table row header, row header"
)
"""Accessibility roles without an everyday word; each is its own word."""

_WEAK = _set(
    "entry, day, date, email, mail, message, place, arrow, handle, suggestion, shortcut, tick, "
    "triangle, stepper, date field, chevron, text, label, caption, title, heading, header, file, "
    "folder, directory, box, line, list, table, grid, sheet, image, picture, logo, icon, section, "
    "area, panel, pane, option, choice, result, window, dialog, editor, document, menu, item, tab, "
    "row, cell, link, toggle, switch, input, paragraph, terminal, canvas, frame, static, alert"
)
"""Kind words that may be part of a name ("checkbox wrap text"): stronger words go first."""

_KINDS = {role: Kind(role, frozenset({role})) for role in _OTHER_ROLES} | {
    word: kind for words, kind in _TABLE for word in words.split("|")
}


_STRONG = frozenset(_KINDS.keys() - _WEAK)
_LAST, _FIRST, _ANY = (
    r"(?:^|(?<=\s))({})(?:(?<=x)es|s)?$",
    r"^({})(?=\s|$)",
    r"(?:^|(?<=\s))({})(?=\s|$)",
)
_SEARCHES = (
    *((_STRONG, _LAST), (_STRONG, _FIRST), (_WEAK, _LAST), (_WEAK, _FIRST)),
    *((_STRONG, _ANY), (_WEAK, _ANY)),
)


@cache
def _pattern(words: frozenset[str], where: str) -> re.Pattern[str]:
    """Compile a pattern on first use: most descriptions need only the first of six."""
    ordered = sorted(words, key=len, reverse=True)
    return re.compile(where.format("|".join(re.escape(word) for word in ordered)))


def names_kind(text: str, kind: Kind) -> bool:
    """Whether lower-case words only repeat a kind, as "entry" does for a menu item."""
    return text in _KINDS and bool(_KINDS[text].roles & kind.roles)


def find_kind(text: str) -> tuple[Kind | None, str]:
    """Returns the kind named in lower-case words, if any, and the words without it.

    The word at the end decides ("menu item" in "save as menu item"), else the one at the start
    ("checkbox wrap text"), else any.
    """
    for words, where in _SEARCHES:
        if match := _pattern(words, where).search(text):
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            return _KINDS[match[1]], " ".join(rest.split())
    return None, text
