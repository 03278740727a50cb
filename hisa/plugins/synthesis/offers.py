"""The acts that a screen offers: what a person could click, type into or scroll there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hisa.plugins.synthesis.doing import act_on, called, holders, usable
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.subject import Subject
from hisa.screen.lies_at import element_at, lies_in
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, MULTI_LINE
from hisa.tools.policy.effect_words import FILE_MANAGERS, effects_said, is_app

__all__ = [
    "DANGEROUS",
    "ESCAPE",
    "MENU_ITEMS",
    "at_rest",
    "in_front",
    "offered_keys",
    "offers",
    "reason_to_leave",
]

ESCAPE = Act(kind="press", keys=("esc",))
"""Leaves a dialog or a menu. A way back, written down so that routes stay whole; never offered."""
MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item"})
_CLICKED = MENU_ITEMS | {
    "menu", "push button", "button", "toggle button", "page tab", "check box", "radio button",
    "combo box", "list item", "table cell", "tree item", "link", "icon", "switch", "split button",
    "push button menu", "button menu", "option",
}  # fmt: skip
_OPENED = frozenset({"icon", "table cell", "list item", "tree item"})
"""Opened by a double click: icons anywhere, the others in file managers."""
_RIGHT = _OPENED | {"page tab", "text", "link"}
"""Have a menu of their own. One of a kind is enough: the menu is the kind's."""
_ENTERED = frozenset({"table cell", "spin button", "search box"})
"""Take what was typed only with Enter."""
_MANY = frozenset({"table cell", "list item", "tree item", "icon", "option", "link"})
_MOST_ALIKE = 4
"""Of cells or items of one holder; the others do the same. Chosen by hand."""
_DIALOGS = frozenset({"dialog", "alert", "file chooser"})
_SHEET = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")
"""Cells of a sheet are named by column and row."""
_LAST = frozenset({"cancel", "close", "_cancel", "_close"})
"""Names of buttons that end a dialog: what it offers is tried before."""
_PANES = frozenset({"scroll pane", "viewport"})
"""Scroll where something that they hold reaches below their edge."""
_SCROLLED = 80
"""Pixels: less is no place to scroll."""
_LINES = -5

DANGEROUS: tuple[tuple[str, str], ...] = (
    (r"quit|exit|log ?out|shut ?down|restart|suspend", "ends the program or the machine"),
    (r"close|close (all|tab|window|document|file)s?", "closes what is explored"),
    (r"detach( tab)?|new window|open in (a )?new window", "leaves for a window of its own"),
    (r"print|print preview|page setup|printer settings", "needs a printer"),
    (r"send|send to|e-?mail( document)?|share|bluetooth", "leaves the machine"),
    (
        r"delete (permanently|forever)|shred|empty trash|format (disk|drive|volume)",
        "cannot be undone",
    ),
    (
        r"about|help|contents|website|online help|user guides|donat.*|get involved|release notes"
        r"|report|report (a )?(bug|problem)|send feedback|what's this|license information"
        r"|translate this application|check for updates|search commands|open (web ?page|url)",
        "leads out of the program, to pages about it",
    ),
    (r"(.* )?in terminal|terminal|root|as administrator|run (in|as) .*", "runs any command"),
    (r"extensions?|add-?ons?|plugins|macros?", "installs or runs foreign code"),
)
"""Whole names of controls that are left alone anywhere, dots and case aside, and why. "About
Mousepad" begins with one; so do names that go on with "..." or the program's name."""
_LEFT = tuple((re.compile(rf"(?:{words})\b", re.IGNORECASE), why) for words, why in DANGEROUS)
_GO_ON = re.compile(r"\s*(\.\.\.|…|$|this\b|the\b|[A-Z])")
"""What may follow such a name: "Print…", "About Mousepad", not "Close bracket" or "Help text"."""
_LEAVE_EFFECTS = frozenset({"pay", "send", "install", "security"})
"""Of what the core's policy says a button does; deleting stays inside and is undone by a reset."""

_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"e-?mail", ("ana@example.org",)),
    (r"url|address bar|web ?site|homepage", ("http://localhost/",)),
    (r"path|location|folder", ("/tmp",)),
    (r"date|day|birthday|deadline|due", ("2024-03-05",)),
    (r"time|hour", ("14:30",)),
    (r"phone|mobile", ("555 0137",)),
    (r"zip|postal", ("10115",)),
    (r"password", ("Secret-42",)),
    (r"file ?name|save as|^name:?$", ("report.txt", "plan.txt")),
    (
        r"number|amount|price|quantity|size|width|height|count|year|age|line|column|row|spaces",
        ("12", "3"),
    ),
)
"""Texts for fields by a word of their name or label; the subject's words for all others."""
_FIELD_KINDS = tuple((re.compile(words, re.IGNORECASE), texts) for words, texts in _KINDS)


def offers(look: Observation, subject: Subject, program: str = "") -> list[Act]:
    """The acts that a look offers, in reading order: clicks, then texts, menus of things, scrolls.

    Acts of one `Act.key` are alike but for their text. While a menu is open, only menus and their
    entries count: a click elsewhere merely closes it, and so does one at the menu bar where the
    open menu is none of the bar's. Else it is the window in front that counts.
    """
    elements = in_front(look, program)
    menu = [one for one in elements if one.role in MENU_ITEMS and usable(one, look)]
    if menu:
        bar = any("menu bar" in _roles_above(one, look) for one in menu)
        roles = MENU_ITEMS | {"menu"}
        elements = [
            one for one in elements
            if one.role in roles and (bar or "menu bar" not in _roles_above(one, look))
        ]  # fmt: skip
    usables = [
        one
        for one in _few_alike(elements)
        if usable(one, look) and not reason_to_leave(one, subject)
    ]
    acts = [*_clicks(usables, look), *_typed(usables, look, subject)]
    if not menu:
        acts += [*_right_clicks(usables, look), *_scrolls(elements, look)]
    return sorted(dict.fromkeys(acts), key=lambda act: act.name.casefold() in _LAST)


def offered_keys(look: Observation, subject: Subject, program: str = "") -> list[tuple[str, ...]]:
    """The keys of what a look offers, and Escape's where it leaves something."""
    keys = [act.key for act in offers(look, subject, program)]
    return keys if at_rest(look, program) else [*keys, ESCAPE.key]


def program_of(look: Observation, subject: Subject) -> str:
    """The program that the subject's main window is of, as its elements tell; empty: unknown."""
    main = subject.main.casefold()
    apps = (one.app for one in look.elements or () if main in one.window.casefold())
    return next(filter(None, apps), "")


def in_front(look: Observation, program: str = "") -> list[Element]:
    """The elements of the window that has the focus; all where none is known to have it.

    None of a window of another program, which this one may have opened: it is not explored.
    """
    elements = look.elements or ()
    active = look.active.title if look.active else None
    own = [one for one in elements if active is None or one.window in (active, "")] or elements
    apps = {one.app for one in own if one.window}
    return [] if program and apps and program not in apps else list(own)


def at_rest(look: Observation, program: str = "") -> bool:
    """Whether a window of the program is in front, without a dialog or an open menu."""
    elements = [one for one in in_front(look, program) if {"showing", "visible"} & one.states]
    return bool(elements) and not any(
        one.role in _DIALOGS or (one.role in MENU_ITEMS and usable(one, look)) for one in elements
    )


def reason_to_leave(element: Element, subject: Subject) -> str:
    """The reason why a control is left alone; empty where it may be used."""
    name = (called(element) or element.label).strip()
    if any(name.casefold().rstrip(".…") == one.casefold() for one in subject.leave):
        return "the subject says so"
    if element.role in FIELDS:
        return ""
    for words, why in _LEFT:
        match = words.match(name)
        if match and _GO_ON.match(name, match.end()):
            in_dialog = not subject.main or subject.main not in element.window
            dismisses = match[0].casefold() == "close" and element.role not in MENU_ITEMS
            return "" if dismisses and in_dialog else why
    effects = effects_said(name, label=True, first=True) & _LEAVE_EFFECTS
    return f"may {', '.join(sorted(effects))}" if effects else ""


def _few_alike(elements: Iterable[Element]) -> Iterator[Element]:
    """Leaves out most of many that are alike, those without a text first.

    Of a row only the first cell is kept: lists of files have sizes and times as cells.
    """
    counts: Counter[tuple[str, int | None]] = Counter()
    rows: set[tuple[int | None, float]] = set()
    listed, kept = list(elements), set[int]()
    for at, one in sorted(enumerate(listed), key=lambda pair: not pair[1].text.strip()):
        row = one.parent, one.box.top
        if one.role == "table cell" and not _SHEET.fullmatch(one.name):
            if row in rows or not called(one):
                continue
            rows.add(row)
        counts[one.role, one.parent] += 1
        if one.role not in _MANY or counts[one.role, one.parent] <= _MOST_ALIKE:
            kept.add(at)
    yield from (one for at, one in enumerate(listed) if at in kept)


def _clicks(elements: Sequence[Element], look: Observation) -> Iterator[Act]:
    for one in elements:
        named = bool(called(one)) or one.role in ("check box", "radio button", "combo box")
        if one.role in _CLICKED and named and not _holds_entries(one, look):
            yield act_on(one, look, "click")
        opens = one.role == "icon" or is_app(FILE_MANAGERS, [one.app.casefold()])
        if one.role in _OPENED and called(one) and opens:
            yield act_on(one, look, "double_click")


def _holds_entries(element: Element, look: Observation) -> bool:
    """Whether a menu is open: another click would close it."""
    elements = look.elements or ()
    return element.role == "menu" and any(
        one.role in MENU_ITEMS | {"menu"} and lies_in(at, elements.index(element), elements)
        for at, one in enumerate(elements)
        if one is not element
    )


def _typed(elements: Sequence[Element], look: Observation, subject: Subject) -> Iterator[Act]:
    for one in elements:
        cell = (
            one.role == "table cell"
            and bool(subject.documents)
            and _SHEET.fullmatch(one.name) is not None
        )
        if cell or (one.role in FIELDS and "editable" in one.states):
            bar = not MULTI_LINE & one.states and "tool bar" in _roles_above(one, look)
            keys = ("enter",) if cell or one.role in _ENTERED or bar else ()
            for text in _texts(one, look, subject):
                yield act_on(one, look, "type", text=text, keys=keys)


def _texts(element: Element, look: Observation, subject: Subject) -> tuple[str, ...]:
    """The texts for a field, by what it is called, or else what holds it: "Font Size"."""
    words = " ".join((element.name, element.label, element.description)).strip()
    words = words or (holders(element, look.elements or ()) or ("",))[-1]
    if element.role == "table cell" or MULTI_LINE & element.states:
        return subject.words or ("Berlin",)
    if element.role == "spin button":
        return ("12", "3")
    for kind, texts in _FIELD_KINDS:
        if words and kind.search(words):
            return texts
    return subject.words or ("Berlin",)


def _roles_above(element: Element, look: Observation) -> set[str]:
    elements, at, roles = look.elements or (), element.parent, set[str]()
    while at is not None and 0 <= at < len(elements) and len(roles) < 60:
        roles.add(elements[at].role)
        at = elements[at].parent
    return roles


def _right_clicks(elements: Sequence[Element], look: Observation) -> Iterator[Act]:
    kinds: set[str] = set()
    for one in elements:
        single_line = one.role == "text" and not MULTI_LINE & one.states
        if one.role in _RIGHT and one.role not in kinds and not single_line:
            kinds.add(one.role)
            yield act_on(one, look, "right_click")


def _scrolls(elements: Sequence[Element], look: Observation) -> Iterator[Act]:
    """The wheel turns over what a pane shows at its centre: that is what can be found again."""
    listed = look.elements or ()
    numbers = {id(one): at for at, one in enumerate(listed)}
    for pane in elements:
        if pane.role not in _PANES or min(pane.box.width, pane.box.height) < _SCROLLED:
            continue
        below = pane.box.bottom + 4
        more = any(
            one.box.bottom > below and lies_in(at, numbers[id(pane)], listed)
            for at, one in enumerate(listed)
        )
        shown = element_at(pane.box.centre, look) if more else None
        if shown is not None and usable(shown, look):
            yield act_on(shown, look, "scroll", lines=_LINES)
