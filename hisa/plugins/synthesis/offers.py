"""The acts that a screen offers: what a person could click or type into there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hisa.plugins.synthesis.doing import act_on, called, holders, usable
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.subject import Subject
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, MULTI_LINE
from hisa.tools.policy.effect_words import BROWSER_APPS, effects_said, is_app

__all__ = [
    "DANGEROUS", "DIALOGS", "ESCAPE", "MENU_ITEMS", "TEXTS", "at_rest", "confirms", "in_front",
    "offered_keys", "offers", "program_of", "reason_to_leave",
]  # fmt: skip

ESCAPE = Act(kind="press", keys=("esc",))
"""Leaves a dialog or a menu. A way back, written down so that routes stay whole; never offered."""
MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item"})
_BUTTONS = frozenset({"push button", "button"})
_CLICKED = MENU_ITEMS | _BUTTONS | {
    "menu", "toggle button", "page tab", "check box", "radio button", "combo box", "list item",
    "table cell", "tree item", "link", "icon", "switch", "split button", "push button menu",
    "button menu", "option",
}  # fmt: skip
_UNNAMED = frozenset({"check box", "radio button", "combo box"})
"""Clicked without a name as well."""
_RIGHT = frozenset({"icon", "table cell", "list item", "tree item", "page tab", "text"})
"""Have a menu of their own. One of a kind is enough: the menu is the kind's."""
_ENTERED = frozenset({"table cell", "spin button", "search box"})
"""Take what was typed only with Enter."""
TEXTS = frozenset({"paragraph", "heading"})
"""Parts of a document; a double click selects a word there."""
_MANY = TEXTS | {"table cell", "list item", "tree item", "icon", "option", "link"}
_MOST_ALIKE = 4
"""Of cells or items of one holder; the others do the same. Chosen by hand."""
DIALOGS = frozenset({"dialog", "alert", "file chooser"})
_SHEET = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")
"""Cells of a sheet are named by column and row."""
_CONFIRM = re.compile(
    r"_?(ok|yes|save|apply|add|create|insert|rename|replace|find|set|update|confirm|submit|send"
    r"|filter|search|done|sort)\b",
    re.IGNORECASE,
)
_LAST = frozenset({"cancel", "close", "_cancel", "_close"})
_AWAY = "leaves the machine"
DANGEROUS: tuple[tuple[str, str], ...] = (
    (r"quit|exit|log ?out|shut ?down|restart|suspend", "ends the program or the machine"),
    (r"close|close (all|tab|window|document|file)s?", "closes what is explored"),
    (r"detach( tab)?|new window|open in (a )?new window", "leaves for a window of its own"),
    (r"print|print preview|page setup|printer settings", "needs a printer"),
    (r"send|send to|e-?mail( document)?|share|bluetooth|connect to server", _AWAY),
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
    (r"path|location", ("/tmp",)),
    (r"year", ("2024",)),
    (r"month|day", ("5", "12")),
    (r"date|birthday|deadline|due", ("2024-03-05",)),
    (r"time|hour", ("14:30",)),
    (r"phone|mobile", ("555 0137",)),
    (r"zip|postal", ("10115",)),
    (r"password", ("Secret-42",)),
    (r"file ?name|save as", ("report.txt", "plan.txt")),
    (r"number|amount|price|quantity|size|width|height|count|age|line|column|row", ("12", "3")),
)
"""Texts for fields by a word of their name or label; the subject's words for all others."""


def offers(look: Observation, subject: Subject, program: str = "") -> list[Act]:
    """The acts that a look offers: texts, clicks, menus of things, and what ends a dialog.

    Acts of one `Act.key` are alike but for their text. While a menu is open, only menus and their
    entries count: a click elsewhere merely closes it, and so does one at the menu bar where the
    open menu is none of the bar's. Else it is the window in front that counts, unless it is one
    beside the main window.
    """
    elements, resting = in_front(look, program), at_rest(look, program)
    title = look.active.title if look.active else subject.main
    beside = resting and subject.main not in title
    if beside and any(subject.main in window.title for window in look.windows):
        return []
    menu = [one for one in elements if one.role in MENU_ITEMS and usable(one, look)]
    if menu:
        bar = any("menu bar" in _roles_above(one, look) for one in menu)
        elements = [
            one for one in elements
            if one.role in MENU_ITEMS | {"menu"}
            and (bar or "menu bar" not in _roles_above(one, look))
        ]  # fmt: skip
    acts = [act for one in _few_alike(elements) for act in _acts_on(one, look, subject)]
    first = {act.role: act for act in reversed(acts) if act.kind == "right_click" and not menu}
    kept = (act for act in acts if act.kind != "right_click" or first.get(act.role) == act)
    return sorted(dict.fromkeys(kept), key=_rank)


def _rank(act: Act) -> int:
    if act.role in _BUTTONS and act.name.casefold() in _LAST:
        return 5
    kinds = ("type", "click", "double_click", "right_click")
    return 4 if confirms(act) else 0 if act.role in TEXTS else kinds.index(act.kind)


def confirms(act: Act) -> bool:
    """Whether an act presses a button that makes last what was filled in: OK, Save, Submit."""
    return act.role in _BUTTONS and _CONFIRM.match(act.name) is not None


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
    The elements tell the window in front before its title does: messages may have none.
    """
    elements = look.elements or ()
    tops = [one.window for one in elements if one.parent == -1 and "active" in one.states]
    active = tops[-1] if tops else look.active.title if look.active else None
    own = [one for one in elements if active is None or one.window in (active, "")] or elements
    apps = {one.app for one in own if one.window}
    return [] if program and apps and program not in apps else list(own)


def at_rest(look: Observation, program: str = "") -> bool:
    """Whether a window of the program is in front, without a dialog or an open menu."""
    elements = [one for one in in_front(look, program) if {"showing", "visible"} & one.states]
    return bool(elements) and not any(
        one.role in DIALOGS or (one.role in MENU_ITEMS and usable(one, look)) for one in elements
    )


def reason_to_leave(element: Element, subject: Subject) -> str:
    """The reason why a control is left alone; empty where it may be used."""
    name = (called(element) or element.label).strip()
    if any(name.casefold().rstrip(".…") == one.casefold() for one in subject.leave):
        return "the subject says so"
    if element.role in FIELDS | TEXTS:
        return ""
    sends = element.role in _BUTTONS and _is_local(subject)  # what such a page is for
    for words, why in _LEFT:
        match = words.match(name)
        if match and _GO_ON.match(name, match.end()) and not (sends and why == _AWAY):
            in_dialog = not subject.main or subject.main not in element.window
            dismisses = match[0].casefold() == "close" and element.role not in MENU_ITEMS
            return "" if dismisses and in_dialog else why
    effects = effects_said(name, label=True, first=True) & _LEAVE_EFFECTS
    effects -= {"send", "pay"} if sends else set()
    return f"may {', '.join(sorted(effects))}" if effects else ""


def _is_local(subject: Subject) -> bool:
    """Whether a subject is a page that lies on the machine, which nothing leaves."""
    hosts = re.findall(r"\w+://([^/\s:'\"]*)", str(subject.setup))
    here = (re.fullmatch(r"localhost|127(\.\d+){3}|", host) for host in hosts)
    return subject.domain == "browser" and all(here)


def _few_alike(elements: Iterable[Element]) -> Iterator[Element]:
    """Leaves out most of many that are alike, and all but the first cell of a list's row."""
    counts: Counter[tuple[str, int | None]] = Counter()
    rows: set[tuple[int | None, float]] = set()
    for one in elements:
        row = one.parent, one.box.top
        if one.role == "table cell" and not _SHEET.fullmatch(one.name):
            if row in rows or not called(one):
                continue
            rows.add(row)
        counts[one.role, one.parent] += 1
        if one.role not in _MANY or counts[one.role, one.parent] <= _MOST_ALIKE:
            yield one


def _acts_on(element: Element, look: Observation, subject: Subject) -> Iterator[Act]:
    if not usable(element, look) or reason_to_leave(element, subject):
        return
    page = is_app(BROWSER_APPS, [element.app.casefold()])
    role, name, many = element.role, called(element), MULTI_LINE & element.states
    cell = role == "table cell" and bool(subject.documents) and _SHEET.fullmatch(element.name)
    part = role in TEXTS and "editable" in element.states
    takes = cell or part or role == "spin button"
    if takes or (role in FIELDS and "editable" in element.states):
        bar = not many and "tool bar" in _roles_above(element, look)
        keys = ("enter",) if cell or bar or (role in _ENTERED and not page) else ()
        for text in _texts(element, look, subject):
            yield act_on(element, look, "type", text=text, keys=keys)
    idle = (page and role == "table cell") or (role == "menu" and _is_open(element, look))
    if role in _CLICKED and (name or role in _UNNAMED) and not idle:
        yield act_on(element, look, "click")
    if part or (role == "icon" and name):
        yield act_on(element, look, "double_click")
    if role in _RIGHT and not page and (role != "text" or many):
        yield act_on(element, look, "right_click")


def _is_open(menu: Element, look: Observation) -> bool:
    """Whether a menu shows entries: another click would close it."""
    elements = look.elements or ()
    at = next(at for at, one in enumerate(elements) if one is menu)
    return any(one.parent == at and one.role in MENU_ITEMS | {"menu"} for one in elements)


def _texts(element: Element, look: Observation, subject: Subject) -> Sequence[str]:
    """The texts for a field, by what it is called, or else what holds it: "Font Size"."""
    words = " ".join((element.name, element.label, element.description)).strip()
    words = words or (holders(element, look.elements or ()) or ("",))[-1]
    if "file chooser" in _roles_above(element, look):
        words = "file name"
    if element.role != "table cell" and not MULTI_LINE & element.states:
        for kind, texts in _KINDS:
            if re.search(kind, words, re.IGNORECASE):
                return texts
        if element.role == "spin button":
            return ("12", "3")
    return subject.words or ("Berlin",)


def _roles_above(element: Element, look: Observation) -> set[str]:
    elements, at, roles = look.elements or (), element.parent, set[str]()
    while at is not None and 0 <= at < len(elements) and len(roles) < 60:
        roles.add(elements[at].role)
        at = elements[at].parent
    return roles
