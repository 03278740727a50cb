"""The acts that a screen offers: what a person could click or type into there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from hisa.plugins.guard.policy.effect_words import effects_said, is_app
from hisa.plugins.synthesis.doing import CELL, above, act_on, called, usable
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.subject import Subject
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, MULTI_LINE

__all__ = [
    "ESCAPE",
    "LEAVES",
    "MENU_ITEMS",
    "TEXTS",
    "at_rest",
    "confirms",
    "in_front",
    "is_left_alone",
]
__all__ += ["offered_keys", "offers"]

ESCAPE = Act(kind="press", keys=("esc",))
"""Leaves a dialog or a menu. A way back, written down so that routes stay whole; never offered."""
MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item"})
TEXTS = frozenset({"paragraph", "heading"})
"""Parts of a document; a double click selects a word there."""
_BUTTONS = frozenset({"push button", "button"})
_UNNAMED = frozenset({"check box", "radio button", "combo box"})  # clicked without a name as well
_CLICKED = (
    MENU_ITEMS
    | _BUTTONS
    | _UNNAMED
    | {"menu", "toggle button", "page tab", "list item", "table cell", "tree item", "link", "icon"}
    | {"switch", "split button", "push button menu", "button menu", "option"}
)
_RIGHT = frozenset({"icon", "table cell", "list item", "tree item", "page tab", "text"})
"""Have a menu of their own. One of a kind is enough: the menu is the kind's."""
_ENTERED = frozenset({"table cell", "spin button", "search box"})
"""Take what was typed only with Enter."""
_SCROLLED = frozenset({"scroll pane", "document web", "document text", "document spreadsheet"})
_MANY = TEXTS | {"table cell", "list item", "tree item", "icon", "option", "link"}
_MOST_ALIKE = 4
"""Of cells or items of one holder; the others do the same. Chosen by hand."""
_DIALOGS = frozenset({"dialog", "alert", "file chooser"})
_CONFIRM = re.compile(
    r"_?(ok|yes|save|apply|add|create|insert|rename|replace|find|set|update|confirm|submit|send"
    r"|filter|search|done|sort)\b",
    re.IGNORECASE,
)
LEAVES = re.compile(r"_?(cancel|close)", re.IGNORECASE)
_DANGEROUS = re.compile(
    r"(quit|exit|log ?out|shut ?down|restart|suspend"
    r"|close|close (all|tab|window|document|file)s?|detach( tab)?|(open in (a )?)?new window"
    r"|print|print preview|page setup|printer settings"
    r"|e-?mail( document)?|bluetooth|connect to server"
    r"|delete (permanently|forever)|shred|empty trash|format (disk|drive|volume)"
    r"|about|help|contents|website|online help|user guides|donat.*|get involved|release notes"
    r"|report|report (a )?(bug|problem)|what's this|license information"
    r"|translate this application|check for updates|search commands|open (web ?page|url)"
    r"|(.* )?in terminal|terminal|root|as administrator|run (in|as) .*"
    r"|extensions?|add-?ons?|plugins|macros?)\b",
    re.IGNORECASE,
)
"""Controls that are left alone anywhere: they end the program or leave it, need a printer, cannot
be undone, or run any command."""
_GO_ON = re.compile(r"\s*(\.\.\.|…|$|this\b|the\b|[A-Z])")
"""May follow such a name: "Print…", "About Mousepad", not "Close bracket" or "Help text"."""
_EFFECTS = frozenset({"pay", "send", "install", "security"})
"""Left alone, of what the core's policy says a button does: deleting is undone by a reset."""


def offers(look: Observation, subject: Subject) -> list[Act]:
    """The acts that a look offers: texts, clicks, menus, the wheel, and what ends a dialog.

    Acts of one `Act.key` are alike but for their text. While a menu is open, only menus and their
    entries count: a click elsewhere merely closes it, and so does one at the menu bar where the
    open menu is none of the bar's. Else it is the window in front that counts, unless it is one
    beside the main window.
    """
    elements, title = in_front(look), look.active.title if look.active else subject.main
    beside = subject.main not in title and any(subject.main in one.title for one in look.windows)
    if beside and at_rest(look):
        return []
    entries = [one for one in elements if one.role in MENU_ITEMS and usable(one, look)]
    if entries:
        elements = _of_open_menus(entries, elements, look)
    acts = [act for one in _few_alike(elements) for act in _acts_on(one, look, subject)]
    first = {act.role: act for act in reversed(acts) if act.kind == "right_click" and not entries}
    kept = (act for act in acts if act.kind != "right_click" or first.get(act.role) == act)
    return sorted(dict.fromkeys(kept), key=_rank)


def _of_open_menus(
    entries: Iterable[Element], elements: Iterable[Element], look: Observation
) -> list[Element]:
    """The menus and entries that a click may meet; not open menus, which it would close."""
    opened = [holder for entry in entries for holder in above(entry, look.elements or ())]
    bar = any(one.role == "menu bar" for one in opened)
    return [
        one
        for one in elements
        if one.role in MENU_ITEMS | {"menu"} and one not in opened
        if bar or "menu bar" not in _roles_above(one, look)
    ]


def _rank(act: Act) -> int:
    if act.role in _BUTTONS and LEAVES.fullmatch(act.name):
        return 6
    return (
        5
        if confirms(act)
        else ("type", "click", "double_click", "right_click", "scroll").index(act.kind)
    )


def confirms(act: Act) -> bool:
    """Whether an act presses a button that makes last what was filled in: OK, Save, Submit."""
    return act.role in _BUTTONS and _CONFIRM.match(act.name) is not None


def offered_keys(look: Observation, subject: Subject) -> list[tuple[str, ...]]:
    """The keys of what a look offers, and Escape's where it leaves something."""
    keys = [act.key for act in offers(look, subject)]
    return keys if at_rest(look) else [*keys, ESCAPE.key]


def in_front(look: Observation) -> list[Element]:
    """The elements of the window that has the focus; all where none is known to have it.

    None of a window of another program than the lowest window's, which that one opened: it is not
    explored. The elements tell the window in front before its title does: messages may have none.
    """
    elements = look.elements or ()
    tops = [one.window for one in elements if one.parent == -1 and "active" in one.states]
    active = tops[-1] if tops else look.active.title if look.active else None
    own = [one for one in elements if active is None or one.window in (active, "")] or elements
    apps = {one.app for one in own if one.window}
    lowest = {one.app for one in elements if one.window in [w.title for w in look.windows[:1]]}
    return [] if apps and lowest and apps.isdisjoint(lowest) else list(own)


def at_rest(look: Observation) -> bool:
    """Whether a window of the program is in front, without a dialog or an open menu."""
    elements = [one for one in in_front(look) if {"showing", "visible"} & one.states]
    return bool(elements) and not any(
        one.role in _DIALOGS or (one.role in MENU_ITEMS and usable(one, look)) for one in elements
    )


def is_left_alone(element: Element, subject: Subject) -> bool:
    """Whether a control is dangerous, or the subject names it as one to leave."""
    name, button = (called(element) or element.label).strip(), element.role in _BUTTONS
    if name.casefold().rstrip(".…") in map(str.casefold, subject.leave):
        return True
    if element.role in FIELDS | TEXTS:
        return False
    dangerous = _DANGEROUS.match(name)
    if dangerous and _GO_ON.match(name, dangerous.end()):
        of_dialog = button and subject.main not in element.window
        return not (of_dialog and dangerous[0].casefold() == "close")
    effects = effects_said(name, label=True, first=True) & _EFFECTS
    if button and _is_local(subject):  # such a page is there to send something
        effects -= {"send", "pay"}
    return bool(effects)


def _is_local(subject: Subject) -> bool:
    """Whether a subject is a page that lies on the machine, which nothing leaves."""
    hosts = re.findall(r"\w+://([^/\s:'\"]*)", str(subject.setup))
    return subject.domain == "browser" and {*hosts} <= {"", "localhost", "127.0.0.1"}


def _few_alike(elements: Iterable[Element]) -> Iterator[Element]:
    """Leaves out most of many that are alike, and all but the first cell of a list's row."""
    counts: Counter[tuple[str, int | None]] = Counter()
    rows: set[tuple[int | None, float]] = set()
    for one in elements:
        row = one.parent, one.box.top
        if one.role == "table cell" and not CELL.fullmatch(one.name):
            if row in rows or not called(one):
                continue
            rows.add(row)
        counts[one.role, one.parent] += 1
        if one.role not in _MANY or counts[one.role, one.parent] <= _MOST_ALIKE:
            yield one


def _acts_on(element: Element, look: Observation, subject: Subject) -> Iterator[Act]:
    if element.role in _SCROLLED and usable(element, look, "scroll"):
        for way in ("down", "up"):
            yield act_on(element, look, "scroll", text=way)
    if not usable(element, look) or is_left_alone(element, subject):
        return
    page = is_app("browsers", [element.app.casefold()])
    role, name, many = element.role, called(element), MULTI_LINE & element.states
    cell = role == "table cell" and bool(subject.documents) and CELL.fullmatch(name)
    part = role in TEXTS and "editable" in element.states
    if cell or part or role == "spin button" or (role in FIELDS and "editable" in element.states):
        bar = not many and "tool bar" in _roles_above(element, look)
        keys = ("enter",) if cell or bar or (role in _ENTERED and not page) else ()
        for text in ("12", "3") if role == "spin button" else subject.words or ("Berlin",):
            yield act_on(element, look, "type", text=text, keys=keys)
    if role in _CLICKED and (name or role in _UNNAMED) and not (page and role == "table cell"):
        yield act_on(element, look, "click")
    if part or (role == "icon" and name):
        yield act_on(element, look, "double_click")
    if role in _RIGHT and not page and (role != "text" or many):
        yield act_on(element, look, "right_click")


def _roles_above(element: Element, look: Observation) -> set[str]:
    return {one.role for one in above(element, look.elements or ())}
