"""Reports the roles, boxes, states and names of the widgets that Tk shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

if __package__:
    from hisa.plugins.eyes.training.galleries.rectangles import Rect, cut, meet
else:
    from rectangles import Rect, cut, meet  # type: ignore[import-not-found, no-redef]

__all__ = ["Mark", "report_windows"]

Row = dict[str, Any]
_EVERYWHERE = (-1e6, -1e6, 1e6, 1e6)


@dataclass(frozen=True)
class Mark:
    """What a widget is: a role, or "tabs", "rows" and "cells" for those that have parts."""

    role: str
    name: str
    states: tuple[str, ...] = ()


class _Window:
    """A toplevel or menu, with boxes from its corner."""

    def __init__(self, tk: Any, path: str, marks: dict[str, Mark]) -> None:
        self.tk, self.path, self.marks = tk, path, marks
        self.corner = self.ask("rootx", path), self.ask("rooty", path)

    def ask(self, option: str, path: str) -> int:
        """Return a number of winfo."""
        return int(self.tk.call("winfo", option, path))

    def box(self, path: str) -> Rect:
        """Return the box of a widget."""
        left = self.ask("rootx", path) - self.corner[0]
        top = self.ask("rooty", path) - self.corner[1]
        return left, top, left + self.ask("width", path), top + self.ask("height", path)

    def visit(self, path: str, clip: Rect) -> Iterator[Row]:
        """Report a widget and those inside it."""
        for child in self.tk.splitlist(self.tk.call("winfo", "children", path)):
            child = str(child)
            kind = str(self.tk.call("winfo", "class", child))
            if not self.ask("viewable", child) or kind in ("Toplevel", "ComboboxPopdown"):
                continue
            if kind == "Menu":
                if self.is_bar(child):
                    yield from self.menu_rows(child)
                continue
            inner = meet(clip, self.box(child))
            yield from self.rows_of(child, clip)
            yield from self.visit(child, inner)

    def rows_of(self, path: str, clip: Rect) -> Iterator[Row]:
        """Report what a widget's mark says of it."""
        kind = str(self.tk.call("winfo", "class", path))
        mark = self.marks.get(path) or (Mark("rows", "") if kind == "Listbox" else None)
        if mark is None:
            return
        inner = meet(clip, self.box(path))
        if mark.role == "tabs":
            yield from self.tabs(path, inner)
        elif mark.role == "rows":
            yield from self.rows(path, inner)
        elif mark.role == "cells":
            yield from self.cells(path, inner)
        else:
            box = self.box(path)
            if mark.role in ("check box", "radio"):
                box = self.indicator(path, box)
            yield from _row(mark.role, cut(box, clip), self.states(path, mark.role), mark.name)

    def states(self, path: str, role: str) -> list[str]:
        """Return the states of a widget; those of classic Tk show none but the focus."""
        focused = str(self.tk.call("focus")) == path
        states = ["focused"] if focused else []
        if str(self.tk.call("winfo", "class", path)).startswith("T") and role != "field":
            flags = self.tk.splitlist(self.tk.call(path, "state"))
            held = role in ("check box", "radio") and "selected" in flags
            states += ["checked"] * held + ["disabled"] * ("disabled" in flags)
        return states

    def indicator(self, path: str, box: Rect) -> Rect:
        """Return the box of a check box's or radio's mark, looked for point by point."""
        left, top, right, bottom = (int(edge) for edge in box)
        points = [
            (x, y)
            for x in range(min(right - left, 80))
            for y in range(bottom - top)
            if "ndicator" in str(self.tk.call(path, "identify", "element", x, y))
        ]
        if not points:
            return box
        acrosses, downs = zip(*points, strict=True)
        side = max(downs) - min(downs) + 1  # the mark is square; a theme's margin follows it
        across = min(side, max(acrosses) - min(acrosses) + 1)
        left, top = left + min(acrosses), top + min(downs)
        return left, top, left + across, top + side

    def tabs(self, path: str, clip: Rect) -> Iterator[Row]:
        """Report a notebook's tabs, looked for point by point."""
        left, top, right, bottom = (int(edge) for edge in self.box(path))
        spots: dict[int, list[tuple[int, int]]] = {}
        for y in range(0, min(60, bottom - top), 2):
            for x in range(0, right - left, 3):
                if str(self.tk.call(path, "identify", "element", x, y)):
                    index = self.tk.call(path, "index", f"@{x},{y}")
                    if index != "":
                        spots.setdefault(int(index), []).append((x, y))
        chosen = str(self.tk.call(path, "select"))
        for index, page in enumerate(self.tk.splitlist(self.tk.call(path, "tabs"))):
            if index in spots:
                acrosses, downs = zip(*spots[index], strict=True)
                box = (left + min(acrosses), top + min(downs), left + max(acrosses) + 3)
                edges = (*box, top + max(downs) + 2)
                name = str(self.tk.call(path, "tab", page, "-text"))
                states = ["selected"] if str(page) == chosen else []
                yield from _row("tab", cut(edges, clip), states, name)

    def rows(self, path: str, clip: Rect) -> Iterator[Row]:
        """Report the rows of a list box."""
        left, top, right, _ = self.box(path)
        chosen = {int(index) for index in self.tk.splitlist(self.tk.call(path, "curselection"))}
        for index in range(int(self.tk.call(path, "size"))):
            place = self.tk.splitlist(self.tk.call(path, "bbox", index))
            if place:
                x, y, width, height = (int(edge) for edge in place)
                end = right - x if index in chosen else left + x + width
                box = (left + x, top + y, end, top + y + height)
                states = ["selected"] if index in chosen else []
                name = str(self.tk.call(path, "get", index))
                yield from _row("list item", cut(box, clip), states, name)

    def cells(self, path: str, clip: Rect) -> Iterator[Row]:
        """Report the cells and headers of a table, or the rows of a tree."""
        left, top, *_ = self.box(path)
        columns = self.tk.splitlist(self.tk.call(path, "cget", "-columns"))
        chosen = {str(item) for item in self.tk.splitlist(self.tk.call(path, "selection"))}
        first = True
        for item in self._items(path, ""):
            for column in columns or ["#0"]:
                place = self.tk.splitlist(self.tk.call(path, "bbox", item, column))
                if not place:
                    continue
                x, y, width, height = (int(edge) for edge in place)
                if first and columns:
                    header = (left + x, top + 1, left + x + width, top + y)
                    title = str(self.tk.call(path, "heading", column, "-text"))
                    yield from _row("table cell", cut(header, clip) if y > 8 else None, [], title)
                box = (left + x, top + y, left + x + width, top + y + height)
                states = ["selected"] if str(item) in chosen else []
                if not columns and self._is_open(path, item):
                    states.append("expanded")
                name = (
                    self.tk.call(path, "set", item, column) if columns else self._text(path, item)
                )
                role = "table cell" if columns else "list item"
                yield from _row(role, cut(box, clip), states, str(name))
            first = False

    def _items(self, path: str, parent: str) -> Iterator[str]:
        for item in self.tk.splitlist(self.tk.call(path, "children", parent)):
            yield str(item)
            if self.tk.getboolean(self.tk.call(path, "item", item, "-open")):
                yield from self._items(path, str(item))

    def _is_open(self, path: str, item: str) -> bool:
        opened = self.tk.getboolean(self.tk.call(path, "item", item, "-open"))
        return bool(opened) and bool(self.tk.splitlist(self.tk.call(path, "children", item)))

    def _text(self, path: str, item: str) -> str:
        return str(self.tk.call(path, "item", item, "-text"))

    def is_bar(self, menu: str) -> bool:
        """Return whether a menu is a window's menu bar."""
        return str(self.tk.call(menu, "cget", "-type")) == "menubar"

    def menu_rows(self, path: str) -> Iterator[Row]:
        """Report the entries of a menu or menu bar, looked for point by point."""
        left, top, right, bottom = (int(edge) for edge in self.box(path))
        bar = self.is_bar(path)
        spots: dict[int, list[tuple[int, int]]] = {}
        for y in range(0, bottom - top, 2):
            for x in range(0, right - left, 4 if bar else right - left):
                index = str(self.tk.call(path, "index", f"@{x},{y}"))
                if index.isdigit():
                    spots.setdefault(int(index), []).append((x, y))
        for number, points in spots.items():
            if str(self.tk.call(path, "type", number)) == "separator":
                continue
            acrosses, downs = zip(*points, strict=True)
            end = left + max(acrosses) + 4 if bar else right
            box = (left + min(acrosses), top + min(downs), end, top + max(downs) + 2)
            state = str(self.tk.call(path, "entrycget", number, "-state"))
            states = {"disabled": ["disabled"], "active": ["selected"]}.get(state, [])
            name = str(self.tk.call(path, "entrycget", number, "-label"))
            yield from _row("menu item", box, states, name)


def _row(role: str, box: Rect | None, states: list[str], name: str) -> Iterator[Row]:
    """Yield a record, unless too little of the widget is in sight."""
    if box is not None:
        yield {"role": role, "box": list(box), "states": states, "name": name}


def report_windows(root: Any) -> list[Row]:
    """Return a record of each shown window, menu and drop-down list, with its boxes."""
    tk = root.tk
    records = []
    for path in _tops(tk, "."):
        widget = root.nametowidget(path) if path in _own(root) else None
        window = _Window(tk, path, getattr(widget, "marks", {}))
        menu = str(tk.call("winfo", "class", path)) == "Menu"
        rows = window.menu_rows(path) if menu else window.visit(path, _EVERYWHERE)
        title = "" if menu or widget is None else widget.title()
        head = {"xid": int(str(tk.call("winfo", "id", path)), 16), "name": title}
        head["dialog"] = getattr(widget, "dialog", False)
        records.append({**head, "scale": 1, "boxes": list(rows)})
    return records


def _own(root: Any) -> set[str]:
    return {str(child) for child in root.winfo_children()}


def _tops(tk: Any, path: str) -> Iterator[str]:
    """Yield the paths of all shown toplevels, menus that are posted, and drop-down lists."""
    for child in tk.splitlist(tk.call("winfo", "children", path)):
        kind = str(tk.call("winfo", "class", child))
        menu = kind == "Menu" and str(tk.call(child, "cget", "-type")) != "menubar"
        if (menu or kind in ("Toplevel", "ComboboxPopdown")) and int(
            tk.call("winfo", "viewable", child)
        ):
            yield str(child)
        yield from _tops(tk, str(child))
