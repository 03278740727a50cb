"""Reports the roles, boxes, states and names of the widgets that GTK 3 or 4 shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

if __package__:
    from hisa.plugins.eyes.training.galleries.rectangles import Rect, cut, meet
else:
    from rectangles import Rect, cut, meet  # type: ignore[import-not-found, no-redef]

__all__ = ["Truth", "role_of"]

Row = dict[str, Any]

_ROLES = {
    "LinkButton": "link",
    "CheckButton": "check box",
    "Button": "button",
    "SpinButton": "field",
    "Entry": "field",
    "Text": "field",
    "TextView": "field",
    "ComboBox": "combo box",
    "DropDown": "combo box",
    "Switch": "switch",
    "Scale": "slider",
    "Scrollbar": "scroll bar",
    "SeparatorMenuItem": "",
    "MenuItem": "menu item",
    "ListBoxRow": "list item",
    "Image": "image",
}
"""Roles by class."""
_NODE_ROLES = {
    "modelbutton": "menu item",
    "tab": "tab",
    "row": "list item",
    "item": "menu item",
    "scrollbar": "scroll bar",
    "radiobutton": "radio",
}
"""Roles by CSS node name, for widgets whose classes GTK 4 keeps private."""


def role_of(classes: list[str], node: str, styles: list[str], has_text: bool) -> str:
    """Return the role of a widget; empty: none.

    Args:
        classes: its class names, the most special first.
        node: its CSS node name.
        styles: its CSS style classes.
        has_text: whether it shows text of its own.
    """
    if "heading" in styles:
        return "heading"
    if "RadioButton" in classes:
        return "radio"
    role = _NODE_ROLES.get(node)
    if role is None:
        role = next((_ROLES[name] for name in classes if name in _ROLES), "")
    return "icon" if role == "button" and not has_text else role


def _row(role: str, box: Rect | None, states: list[str], name: str) -> Iterator[Row]:
    """Yield a record, unless too little of the widget is in sight."""
    if box is not None:
        yield {"role": role, "box": list(box), "states": states, "name": name}


class Truth:
    """Walks through the widgets of all windows.

    Args:
        gtk: the module Gtk.
        gdk_x11: the module GdkX11.
        version: 3 or 4.
    """

    def __init__(self, gtk: Any, gdk_x11: Any, version: int) -> None:
        self._gtk, self._gdk_x11, self._new = gtk, gdk_x11, version == 4
        self._indicators: dict[str, tuple[int, int]] = {}
        self._root: Any = None
        self._popups: list[Any] = []

    def report(self, windows: list[Any]) -> list[Row]:
        """Return a record of each mapped window and popup, with its boxes.

        Args:
            windows: the windows whose attribute ``dialog`` says whether they are dialogs.
        """
        self._popups = []
        tops = windows if self._new else self._gtk.Window.list_toplevels()
        records = [self._window(top) for top in tops if top.get_mapped()]
        return records + [self._window(popup) for popup in self._popups]

    def _window(self, window: Any) -> Row:
        self._root = window
        surface = window.get_surface() if self._new else window.get_window()
        shift = window.get_surface_transform() if self._new else (0, 0)
        xid = self._gdk_x11.X11Surface.get_xid(surface) if self._new else surface.get_xid()
        boxes = [self._moved(row, shift) for row in self._walk(window, self._box(window))]
        title = window.get_title() if hasattr(window, "get_title") else ""
        head = {"xid": xid, "name": title or "", "dialog": getattr(window, "dialog", False)}
        if self._new and isinstance(window, self._gtk.Popover):
            contents = self._find_node(window, "contents")
            head["shape"] = self._moved({"box": self._box(contents)}, shift)["box"]
        return {**head, "scale": surface.get_scale_factor(), "boxes": boxes}

    @staticmethod
    def _moved(row: Row, shift: tuple[float, float]) -> Row:
        left, top, right, bottom = row["box"]
        across, down = shift[-2:]
        return row | {"box": [left + across, top + down, right + across, bottom + down]}

    def _box(self, widget: Any) -> Rect:
        """Return a widget's box from the corner of its window."""
        if self._new:
            _, rect = widget.compute_bounds(self._root)
            left, top = rect.get_x(), rect.get_y()
            return left, top, left + rect.get_width(), top + rect.get_height()
        left, top = widget.translate_coordinates(self._root, 0, 0) or (0, 0)
        return left, top, left + widget.get_allocated_width(), top + widget.get_allocated_height()

    def _children(self, widget: Any) -> list[Any]:
        """Return a widget's children, the internal ones too."""
        children: list[Any] = []
        if not self._new:
            if isinstance(widget, self._gtk.Container):
                widget.forall(children.append)
            return children
        child = widget.get_first_child()
        while child is not None:
            children.append(child)
            child = child.get_next_sibling()
        return children

    def _walk(self, widget: Any, clip: Rect) -> Iterator[Row]:
        for child in self._children(widget):
            if not (child.get_mapped() and child.get_child_visible() and child.get_opacity()):
                continue
            if self._new and isinstance(child, self._gtk.Popover):
                self._popups.append(child)
                continue
            yield from self._visit(child, clip)

    def _visit(self, widget: Any, clip: Rect) -> Iterator[Row]:
        box = self._box(widget)
        inner = meet(clip, box)
        if inner[2] <= inner[0] or inner[3] <= inner[1]:
            return
        text, classes = self._text(widget), [kind.__name__ for kind in type(widget).__mro__]
        role = role_of(classes, self._node(widget), self._styles(widget), bool(text))
        if isinstance(widget, self._gtk.TreeView):
            yield from self._cells(widget, inner)
        if isinstance(widget, self._gtk.Notebook) and not self._new:
            yield from self._tabs(widget, inner)
        if role in ("button", "icon") and self._in_tree(widget):
            role = "table cell"
        if role in ("check box", "radio") and (shrunk := self._indicator(widget, role, box)):
            box = shrunk
        if role:
            name = text or self._icon_name(widget)
            yield from _row(role, cut(box, clip), self._states(widget, role), name)
        if not role or role == "list item":
            yield from self._walk(widget, inner)
        elif self._new and role in ("menu item", "combo box", "button", "icon"):
            self._popups.extend(self._open_popovers(widget))

    def _open_popovers(self, widget: Any) -> Iterator[Any]:
        for child in self._children(widget):
            if isinstance(child, self._gtk.Popover):
                if child.get_mapped():
                    yield child
            else:
                yield from self._open_popovers(child)

    def _in_tree(self, widget: Any) -> bool:
        return isinstance(widget.get_parent(), self._gtk.TreeView)

    def _node(self, widget: Any) -> str:
        if not self._new:
            return ""
        node = widget.get_css_name()
        if node == "checkbutton" and self._find_node(widget, "radio"):
            return "radiobutton"
        return str(node)

    def _find_node(self, widget: Any, node: str) -> Any:
        return next((c for c in self._children(widget) if c.get_css_name() == node), None)

    def _styles(self, widget: Any) -> list[str]:
        if self._new:
            return list(widget.get_css_classes())
        return list(widget.get_style_context().list_classes())

    def _text(self, widget: Any) -> str:
        """Return the text that a widget shows."""
        for getter in ("get_text", "get_label"):
            if hasattr(widget, getter) and (text := getattr(widget, getter)()):
                return str(text)
        if isinstance(widget, self._gtk.ComboBoxText):
            return widget.get_active_text() or ""
        texts = (self._text(child) for child in self._children(widget) if child.get_visible())
        return next((text for text in texts if text), "")

    def _icon_name(self, widget: Any) -> str:
        if isinstance(widget, self._gtk.Image):
            name = widget.get_icon_name()
            return str((name if self._new else name[0]) or "")
        names = (self._icon_name(child) for child in self._children(widget))
        return next((name for name in names if name), "")

    def _states(self, widget: Any, role: str) -> list[str]:
        flags = widget.get_state_flags()
        kinds = self._gtk.StateFlags
        held = role in ("check box", "radio", "switch", "button", "icon", "menu item")
        chosen = {"tab": kinds.CHECKED, "list item": kinds.SELECTED}
        states = {
            "checked": held and bool(flags & kinds.CHECKED),
            "selected": role in chosen and bool(flags & chosen[role]),
            "disabled": not widget.is_sensitive(),
            "focused": widget.has_focus() or (role == "field" and bool(flags & kinds.FOCUSED)),
        }
        if role == "switch":
            states["checked"] = widget.get_active()
        return [state for state, holds in states.items() if holds]

    def _indicator(self, widget: Any, role: str, box: Rect) -> Rect | None:
        """Return the box of a check box's or radio's mark, which stands at the start."""
        if self._new:
            mark = self._find_node(widget, "check" if role == "check box" else "radio")
            return self._box(mark) if mark else None
        if role not in self._indicators:
            bare = self._gtk.CheckButton() if role == "check box" else self._gtk.RadioButton()
            bare.show()
            self._indicators[role] = (
                bare.get_preferred_width().natural_width,
                bare.get_preferred_height().natural_height,
            )
        width, height = self._indicators[role]
        middle = (box[1] + box[3]) / 2
        return box[0], middle - height / 2, box[0] + width, middle + height / 2

    def _cells(self, view: Any, clip: Rect) -> Iterator[Row]:
        """Report the cells of a table, or the rows of a tree of one column without a header."""
        span = view.get_visible_range()
        if not span:
            return
        left, top = self._box(view)[:2]
        table = view.get_headers_visible() or len(view.get_columns()) > 1
        role = "table cell" if table else "list item"
        path, last = span[-2:]
        while path is not None and path.compare(last) <= 0:
            for number, column in enumerate(view.get_columns()):
                area = view.get_background_area(path, column)
                x, y = view.convert_bin_window_to_widget_coords(area.x, area.y)
                box = (left + x, top + y, left + x + area.width, top + y + area.height)
                name = view.get_model()[path][number]
                states = ["selected"] if view.get_selection().path_is_selected(path) else []
                if number == 0 and view.row_expanded(path):
                    states.append("expanded")
                yield from _row(role, cut(box, clip), states, name)
            path = self._next(view, path)

    def _next(self, view: Any, path: Any) -> Any:
        """Return the path of the next shown row; None: there is none."""
        if view.row_expanded(path):
            return self._gtk.TreePath.new_from_indices([*path.get_indices(), 0])
        model, indices = view.get_model(), list(path.get_indices())
        while indices:
            indices[-1] += 1
            following = self._gtk.TreePath.new_from_indices(indices)
            try:
                model.get_iter(following)
            except ValueError:
                indices.pop()
            else:
                return following
        return None

    def _tabs(self, book: Any, clip: Rect) -> Iterator[Row]:
        """Report GTK 3's tabs, whose edges lie midway between their labels."""
        pages = [book.get_nth_page(number) for number in range(book.get_n_pages())]
        labels = [book.get_tab_label(page) for page in pages]
        boxes = [self._box(label) for label in labels if label.get_child_visible()]
        gaps = [right[0] - left[2] for left, right in pairwise(boxes)]
        pad = max(4.0, min(gaps, default=24.0) / 2)
        chosen = pages[book.get_current_page()]
        top, bottom = self._box(book)[1], self._box(chosen)[1] - chosen.get_margin_top()
        for page, label in zip(pages, labels, strict=True):
            if label.get_child_visible() and label.get_mapped():
                box = self._box(label)
                states = ["selected"] if page == chosen else []
                edges = (box[0] - pad, top, box[2] + pad, bottom)
                name = label.get_text()
                yield from _row("tab", cut(edges, clip), states, name)
