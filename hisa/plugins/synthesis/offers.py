"""The acts that a screen offers: clicks and texts that a person could try there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from hisa.plugins.guard.policy.effect_words import is_app, read_effects
from hisa.plugins.synthesis.exploration_acts import CELL, above, act_on, is_usable, read_name
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
"""Leaves a dialog or a menu. It is recorded so that routes are complete, but never offered."""
MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item"})
TEXTS = frozenset({"paragraph", "heading"})
"""Parts of a document, in which a double click selects a word."""
_BUTTONS = frozenset({"push button", "button"})
_UNNAMED = frozenset({"check box", "radio button", "combo box"})  # clicked even without a name
_CLICKED = (
    MENU_ITEMS
    | _BUTTONS
    | _UNNAMED
    | {"menu", "toggle button", "page tab", "list item", "table cell", "tree item", "link", "icon"}
    | {"switch", "split button", "push button menu", "button menu", "option"}
)
_RIGHT = frozenset({"icon", "table cell", "list item", "tree item", "page tab", "text"})
"""Roles with a context menu. One element of a role is enough: the others have the same menu."""
_ENTERED = frozenset({"table cell", "spin button", "search box"})
"""Roles that accept typed text only with Enter."""
_SCROLLED = frozenset({"scroll pane", "document web", "document text", "document spreadsheet"})
_MANY = TEXTS | {"table cell", "list item", "tree item", "icon", "option", "link"}
_MOST_SIMILAR = 4
"""Most cells or items of one container; the others do the same. Chosen by hand."""
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
"""Controls that are always left alone: they end or leave the program, need a printer, cannot be
undone, or run any command."""
_GO_ON = re.compile(r"\s*(\.\.\.|…|$|this\b|the\b|[A-Z])")
"""What may follow such a name: "Print…", "About Mousepad", not "Close bracket" or "Help text"."""
_EFFECTS = frozenset({"pay", "send", "install", "security"})
"""Effects by the core's policy whose buttons are left alone; a reset undoes a deletion."""


def offers(observation: Observation, subject: Subject) -> list[Act]:
    """Returns the acts that a look offers: texts, clicks, menus, the wheel, buttons of dialogs.

    Acts with the same `Act.key` differ only in their text. While a menu is open, only menus and
    their items are offered, since a click elsewhere merely closes it; the menu bar is offered only
    if the open menu belongs to it. Otherwise the window in front is offered, unless it is a second
    window beside the main one.
    """
    elements, title = (
        in_front(observation),
        observation.active.title if observation.active else subject.main,
    )
    beside = subject.main not in title and any(
        subject.main in window.title for window in observation.windows
    )
    if beside and at_rest(observation):
        return []
    entries = [
        entry for entry in elements if entry.role in MENU_ITEMS and is_usable(entry, observation)
    ]
    if entries:
        elements = _of_open_menus(entries, elements, observation)
    acts = [
        act
        for element in _limit_similar(elements)
        for act in _acts_on(element, observation, subject)
    ]
    first = {act.role: act for act in reversed(acts) if act.kind == "right_click" and not entries}
    remaining = (act for act in acts if act.kind != "right_click" or first.get(act.role) == act)
    return sorted(dict.fromkeys(remaining), key=_rank)


def _of_open_menus(
    entries: Iterable[Element], elements: Iterable[Element], observation: Observation
) -> list[Element]:
    """Returns the menus and items that a click can reach; not open menus, which it would close."""
    opened = [holder for entry in entries for holder in above(entry, observation.elements or ())]
    bar = any(holder.role == "menu bar" for holder in opened)
    return [
        element
        for element in elements
        if element.role in MENU_ITEMS | {"menu"} and element not in opened
        if bar or "menu bar" not in _roles_above(element, observation)
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
    """Whether an act presses a button that applies what was filled in: OK, Save, Submit."""
    return act.role in _BUTTONS and _CONFIRM.match(act.name) is not None


def offered_keys(observation: Observation, subject: Subject) -> list[tuple[str, ...]]:
    """Returns the keys of the acts that a look offers, and of Escape if it leaves something."""
    keys = [act.key for act in offers(observation, subject)]
    return keys if at_rest(observation) else [*keys, ESCAPE.key]


def in_front(observation: Observation) -> list[Element]:
    """Returns the elements of the focused window; all elements if no window is known to have it.

    Returns none if that window belongs to another program than the lowest window: the application
    opened it, and it is not explored. The window in front is read from the elements first, since
    the window of a message may have no title.
    """
    elements = observation.elements or ()
    tops = [
        element.window
        for element in elements
        if element.parent == -1 and "active" in element.states
    ]
    active = tops[-1] if tops else observation.active.title if observation.active else None
    own = [
        element for element in elements if active is None or element.window in (active, "")
    ] or elements
    apps = {element.app for element in own if element.window}
    lowest = {
        element.app
        for element in elements
        if element.window in [w.title for w in observation.windows[:1]]
    }
    return [] if apps and lowest and apps.isdisjoint(lowest) else list(own)


def at_rest(observation: Observation) -> bool:
    """Whether a window of the program is in front, without a dialog or an open menu."""
    elements = [
        element for element in in_front(observation) if {"showing", "visible"} & element.states
    ]
    return bool(elements) and not any(
        element.role in _DIALOGS or (element.role in MENU_ITEMS and is_usable(element, observation))
        for element in elements
    )


def is_left_alone(element: Element, subject: Subject) -> bool:
    """Whether a control is dangerous, or the subject names it as one to leave alone."""
    name, button = (read_name(element) or element.label).strip(), element.role in _BUTTONS
    if name.casefold().rstrip(".…") in map(str.casefold, subject.leave):
        return True
    if element.role in FIELDS | TEXTS:
        return False
    dangerous = _DANGEROUS.match(name)
    if dangerous and _GO_ON.match(name, dangerous.end()):
        of_dialog = button and subject.main not in element.window
        return not (of_dialog and dangerous[0].casefold() == "close")
    effects = read_effects(name, label=True, first=True) & _EFFECTS
    if button and _is_local(subject):  # the forms of a local page send nothing away
        effects -= {"send", "pay"}
    return bool(effects)


def _is_local(subject: Subject) -> bool:
    """Whether a subject is a page on the machine itself, so that nothing leaves the machine."""
    hosts = re.findall(r"\w+://([^/\s:'\"]*)", str(subject.setup))
    return subject.domain == "browser" and {*hosts} <= {"", "localhost", "127.0.0.1"}


def _limit_similar(elements: Iterable[Element]) -> Iterator[Element]:
    """Yields the elements, but only some of many alike, and only the first cell of a list's row."""
    counts: Counter[tuple[str, int | None]] = Counter()
    rows: set[tuple[int | None, float]] = set()
    for element in elements:
        row = element.parent, element.box.top
        if element.role == "table cell" and not CELL.fullmatch(element.name):
            if row in rows or not read_name(element):
                continue
            rows.add(row)
        counts[element.role, element.parent] += 1
        if element.role not in _MANY or counts[element.role, element.parent] <= _MOST_SIMILAR:
            yield element


def _acts_on(element: Element, observation: Observation, subject: Subject) -> Iterator[Act]:
    if element.role in _SCROLLED and is_usable(element, observation, "scroll"):
        for way in ("down", "up"):
            yield act_on(element, observation, "scroll", text=way)
    if not is_usable(element, observation) or is_left_alone(element, subject):
        return
    page = is_app("browsers", [element.app.casefold()])
    role, name, many = element.role, read_name(element), MULTI_LINE & element.states
    cell = role == "table cell" and bool(subject.documents) and CELL.fullmatch(name)
    part = role in TEXTS and "editable" in element.states
    if cell or part or role == "spin button" or (role in FIELDS and "editable" in element.states):
        bar = not many and "tool bar" in _roles_above(element, observation)
        keys = ("enter",) if cell or bar or (role in _ENTERED and not page) else ()
        for text in ("12", "3") if role == "spin button" else subject.words or ("Berlin",):
            yield act_on(element, observation, "type", text=text, keys=keys)
    if role in _CLICKED and (name or role in _UNNAMED) and not (page and role == "table cell"):
        yield act_on(element, observation, "click")
    if part or (role == "icon" and name):
        yield act_on(element, observation, "double_click")
    if role in _RIGHT and not page and (role != "text" or many):
        yield act_on(element, observation, "right_click")


def _roles_above(element: Element, observation: Observation) -> set[str]:
    return {holder.role for holder in above(element, observation.elements or ())}
