"""The screen as the ``<elements>`` section tells it: windows and named things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hisa.offline.records import Target

__all__ = ["PAGES", "Item", "Screen", "read_screen"]

_LINE = re.compile(
    r'- (?P<role>[^"]{1,40}?) "(?P<name>.*?)"(?: text="(?P<text>.*?)")?'
    r'(?: label="(?P<label>.*?)")?(?: states=(?P<states>\S*))? at \((?P<x>-?\d+), (?P<y>-?\d+)\)'
)
_ACTIVE = re.compile(r"window: (?P<title>.*?)(?: ?\((?P<app>[^()]*)\))?")
_MAX_LINE = 600
_MAX_ITEMS = 400
_GOOD = 0.6
_SAME_ROW = 8
"""Pixels."""

_BUTTON = frozenset({"push button", "toggle button", "button", "radio button"})
PAGES = frozenset({"page tab", "table cell", "tree item", "list item", "push button"})
"""What turns to a page of a dialog."""
_WINDOWS = frozenset({"frame", "dialog", "alert", "file chooser", "window"})
_HEADING = re.compile(r'below "(.+?)"')
_AREA = frozenset({"tree table", "tree", "list", "table"})
_FIELD = frozenset(
    {"text", "entry", "password text", "combo box", "spin button", "editbar", "paragraph"}
)
_MENU_ITEM = frozenset(
    {"menu item", "check menu item", "radio menu item", "menu", "tearoff menu item"}
)
_ROLES = {
    "button": _BUTTON,
    "menu": frozenset({"menu", "push button", "toggle button", "combo box"}),
    "menu item": _MENU_ITEM,
    "field": _FIELD,
    "box": _FIELD | _AREA | {"check box"},
    "text area": frozenset({"text", "document text", "paragraph"}),
    "check box": frozenset({"check box", "check menu item", "toggle button", "switch"}),
    "radio button": frozenset({"radio button", "radio menu item"}),
    "combo box": frozenset({"combo box", "menu", "push button", "toggle button"}),
    "tab": frozenset({"page tab"}),
    "link": frozenset({"link"}),
    "cell": frozenset({"table cell"}),
    "icon": frozenset({"icon", "image", "push button", "table cell", "list item", "label"}),
    "list": _AREA,
    "list item": frozenset({"list item", "table cell", "tree item", "menu item", "label"}),
    "item": _MENU_ITEM | {"list item", "table cell", "tree item", "label"},
    "option": _MENU_ITEM | {"list item", "radio button", "check box", "table cell"},
    "row": frozenset({"table row", "table cell", "list item", "tree item", "label"}),
    "slider": frozenset({"slider", "scroll bar"}),
    "label": frozenset({"label", "static", "heading", "paragraph"}),
    "column header": frozenset({"table column header", "column header"}),
    "text": frozenset({"label", "text", "paragraph", "static", "link", "heading"}),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing on the screen; ``x`` and ``y`` in image pixels."""

    role: str
    name: str
    x: int
    y: int
    text: str = ""
    label: str = ""
    states: frozenset[str] = frozenset()

    @property
    def description(self) -> str:
        """As a grounder finds it: ``menu item "Save As..."``."""
        name = self.name.strip()
        if name and not name.endswith("…"):
            return f'{self.role} "{name}"'
        if self.label:
            return f'{self.role} labelled "{self.label}"'
        return f'{self.role} "{name or self.text}"'


@dataclass(frozen=True)
class Screen:
    """What is known of the screen; ``known`` is False where nothing at all was told."""

    title: str = ""
    app: str = ""
    windows: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    known: bool = False

    def shows_window(self, words: Iterable[str]) -> bool:
        """Whether a window's title, or the active window's application, has one of the words."""
        titles = " \n ".join((*self.windows, self.title, self.app)).casefold()
        titles = titles.replace("—", "-").replace("–", "-")
        return any(word.casefold() in titles for word in words)

    def in_front(self, words: Iterable[str]) -> bool:
        """Whether the active window is one of those."""
        front = f"{self.title} \n {self.app}".casefold()
        return any(word.casefold() in front for word in words)

    @property
    def front_listed(self) -> bool:
        """Whether the window in front is among the items, or none of its kind is."""
        frames = [item.name for item in self.items if item.role in _WINDOWS]
        return not self.title or not frames or self.title in frames

    def below(self, target: Target) -> Item | None:
        """The first thing of a nameless target's kind below the heading that it stands under."""
        heading = _HEADING.match(target.near) if not target.name else None
        tops = [i.y for i in self.items if heading and _plain(i.name) == _plain(heading[1])]
        roles = _ROLES.get(target.kind, frozenset())
        fit = (i for i in self.items if i.role in roles and tops and i.y > min(tops))
        return min(fit, key=lambda item: item.y, default=None)

    def fold_over(self, target: Target) -> Item | None:
        """The folded section whose title names what a target stands below, if that is hidden."""
        heading = _HEADING.match(target.near)
        if heading is None or any(_plain(item.name) == _plain(heading[1]) for item in self.items):
            return None
        folded = (i for i in self.items if "expandable" in i.states and "expanded" not in i.states)
        return next((i for i in folded if _plain(heading[1]) in _plain(i.name)), None)

    def find(self, target: Target, *, editable: bool = False) -> Item | None:
        """The item that fits a target best; None where none fits well."""
        if not target.name:
            return self._only(target.kind)
        scored = [(_score(item, target, editable), -place) for place, item in enumerate(self.items)]
        best = max(scored, default=(0.0, 0))
        return self.items[-best[1]] if best[0] >= _GOOD else None

    def _only(self, kind: str) -> Item | None:
        """The thing of a kind that has no name: the focused one, else the first."""
        found = [item for item in self.items if item.role in _ROLES.get(kind, ())]
        focused = [item for item in found if "focused" in item.states]
        return next(iter(focused or found), None)

    def beside(self, label: str, roles: Iterable[str]) -> Item | None:
        """The item of some roles that a label names, or that stands to its right on its row."""
        wanted = _plain(label)
        fit = [item for item in self.items if item.role in roles]
        for item in fit:
            if _plain(item.label) == wanted or _plain(item.name) == wanted:
                return item
        for named in self.with_role("label"):
            if _plain(named.name or named.text) == wanted:
                row = (i for i in fit if abs(i.y - named.y) <= _SAME_ROW and i.x > named.x)
                return min(row, key=lambda item: item.x, default=None)
        return None

    def nearest(self, name: str, count: int = 4) -> list[str]:
        """Names on the screen that are most like a name, best first."""
        from rapidfuzz import fuzz

        wanted = _plain(name)
        found: dict[str, float] = {}
        for item in self.items:
            shown = (item.name or item.label or item.text).strip()
            if shown:
                found[item.description] = fuzz.WRatio(wanted, _plain(shown)[:80])
        return sorted(found, key=lambda shown: (-found[shown], shown))[:count]

    def with_role(self, *roles: str) -> Iterator[Item]:
        """Items of some roles, in order."""
        return (item for item in self.items if item.role in roles)


def read_screen(text: str) -> Screen:
    """Parse the section; lines that do not fit are left out."""
    title = app = ""
    windows: tuple[str, ...] = ()
    items: list[Item] = []
    for line in text.split("\n")[: 2 * _MAX_ITEMS]:
        line = line[:_MAX_LINE]
        if line.startswith("windows:"):
            windows = tuple(part.strip() for part in line[8:].split(";"))
        elif line.startswith("window:") and (active := _ACTIVE.fullmatch(line)):
            title, app = active["title"], active["app"] or ""
        elif len(items) < _MAX_ITEMS and (item := _item(line)) is not None:
            items.append(item)
    return Screen(title, app, windows, tuple(items), known=bool(text.strip()))


def _item(line: str) -> Item | None:
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    return Item(
        role=found["role"],
        name=found["name"].strip(),
        x=int(found["x"]),
        y=int(found["y"]),
        text=found["text"] or "",
        label=found["label"] or "",
        states=frozenset((found["states"] or "").split(",")) - {""},
    )


def _plain(text: str) -> str:
    """Text as compared: no case, no ellipsis, no colon at the end, no mnemonic's underscore."""
    return " ".join(text.casefold().replace("_", "").split()).rstrip(".…:* ")


def _score(item: Item, target: Target, editable: bool) -> float:
    """How well an item fits, 0 to about 1.3."""
    if item.x < 0 or item.y < 0 or (item.states and not item.states & {"showing", "visible"}):
        return 0.0
    wanted = _plain(target.name)
    score = max(
        _alike(_plain(item.name), wanted),
        _alike(_plain(item.label), wanted) - 0.02,
        _alike(_plain(item.text), wanted) - 0.1,
    )
    if score < _GOOD:
        return 0.0
    roles = _FIELD if editable and target.kind in ("field", "") else _ROLES.get(target.kind)
    if roles is not None:
        score += 0.3 if item.role in roles else -0.2
    elif item.role in _MENU_ITEM and item.role != "menu":
        # An entry that shows belongs to an open menu, and a click elsewhere would only close it.
        score += 0.1
    elif item.role in ("label", "frame", "panel", "filler", "window"):
        score -= 0.1
    if item.states and not item.states & {"enabled", "sensitive"} and "showing" in item.states:
        score -= 0.05
    return score


def _alike(shown: str, wanted: str) -> float:
    if not shown or not wanted:
        return 0.0
    if shown == wanted:
        return 1.0
    if len(wanted) >= 3 and (shown.startswith(f"{wanted} ") or f" {wanted} " in f" {shown} "):
        return 0.7
    return 0.65 if len(wanted) >= 5 and _one_typo(shown, wanted) else 0.0


def _one_typo(shown: str, wanted: str) -> bool:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(shown, wanted, score_cutoff=1) <= 1
