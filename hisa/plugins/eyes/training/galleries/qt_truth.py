"""Reports the roles, boxes, states and names of the widgets that Qt 5 shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PyQt5 import QtCore, QtWidgets  # type: ignore[import-not-found]

if __package__:
    from hisa.plugins.eyes.training.galleries.rectangles import Rect, cut, meet
else:
    from rectangles import Rect, cut, meet  # type: ignore[import-not-found, no-redef]

__all__ = ["report_windows"]

Row = dict[str, Any]

_Q = QtWidgets
_ROLES = (
    (_Q.QCheckBox, "check box"),
    (_Q.QRadioButton, "radio"),
    (_Q.QPushButton, "button"),
    (_Q.QToolButton, "icon"),
    (_Q.QLineEdit, "field"),
    (_Q.QAbstractSpinBox, "field"),
    (_Q.QPlainTextEdit, "field"),
    (_Q.QComboBox, "combo box"),
    (_Q.QSlider, "slider"),
    (_Q.QScrollBar, "scroll bar"),
)
_NAMED = ("heading", "link", "image")
_OPEN = (_Q.QPlainTextEdit,)
"""Widgets with a role that hold others, their scroll bars."""


def report_windows() -> list[Row]:
    """Return a record of each shown window and popup, with its boxes."""
    return [
        _window(widget)
        for widget in _Q.QApplication.topLevelWidgets()
        if widget.isVisible() and not isinstance(widget, _Q.QDesktopWidget)
    ]


def _window(window: Any) -> Row:
    head = {"xid": int(window.winId()), "name": window.windowTitle()}
    head["dialog"] = getattr(window, "dialog", False)
    place = window.rect()
    rows = list(_visit(window, window, (0, 0, place.width(), place.height())))
    return {**head, "scale": window.devicePixelRatioF(), "boxes": rows}


def _box(widget: Any, window: Any, part: Any = None) -> Rect:
    """Return the box of a widget, or of a rectangle inside it, from its window's corner."""
    part = widget.rect() if part is None else part
    corner = widget.mapTo(window, part.topLeft())
    left, top = corner.x(), corner.y()
    return left, top, left + part.width(), top + part.height()


def _row(role: str, box: Rect | None, states: list[str], name: str) -> Iterator[Row]:
    """Yield a record, unless too little of the widget is in sight."""
    if box is not None:
        plain = name.replace("&&", "\0").replace("&", "").replace("\0", "&")
        yield {"role": role, "box": list(box), "states": states, "name": plain}


def _visit(widget: Any, window: Any, clip: Rect) -> Iterator[Row]:
    box = _box(widget, window)
    inner = meet(box, clip)
    if inner[2] <= inner[0] or inner[3] <= inner[1]:
        return
    role = next((role for kind, role in _ROLES if isinstance(widget, kind)), "")
    role = widget.objectName() if widget.objectName() in _NAMED else role
    if isinstance(widget, _Q.QToolButton) and widget.text() and not _is_bare(widget):
        role = "button"
    if role:
        yield from _row(
            role, cut(_part(widget, window, role), clip), _states(widget), _name(widget)
        )
    yield from _inner_rows(widget, window, inner)
    if not role or isinstance(widget, _OPEN):
        for child in widget.children():
            if isinstance(child, _Q.QWidget) and child.isVisible() and not child.isWindow():
                yield from _visit(child, window, inner)


def _is_bare(button: Any) -> bool:
    return bool(button.toolButtonStyle() == QtCore.Qt.ToolButtonIconOnly)


def _part(widget: Any, window: Any, role: str) -> Rect:
    """Return the box of what stands for a widget: the mark of a check box, else all of it."""
    if role not in ("check box", "radio"):
        return _box(widget, window)
    option = _Q.QStyleOptionButton()
    widget.initStyleOption(option)
    style = _Q.QStyle.SE_CheckBoxIndicator
    if role == "radio":
        style = _Q.QStyle.SE_RadioButtonIndicator
    return _box(widget, window, widget.style().subElementRect(style, option, widget))


def _name(widget: Any) -> str:
    for getter in ("title", "text", "currentText", "toolTip", "cleanText"):
        value = getattr(widget, getter, "")
        value = value() if callable(value) else value
        if value and not str(value).startswith("<a "):
            return str(value)
    return ""


def _states(widget: Any) -> list[str]:
    button = isinstance(widget, _Q.QAbstractButton)
    states = {
        "checked": button and widget.isChecked(),
        "disabled": not widget.isEnabled(),
        "focused": widget.hasFocus()
        or bool(widget.focusProxy() and widget.focusProxy().hasFocus()),
    }
    return [state for state, holds in states.items() if holds]


def _inner_rows(widget: Any, window: Any, clip: Rect) -> Iterator[Row]:
    """Report the parts of a widget that are no widgets: tabs, menu items, cells, headers."""
    if isinstance(widget, _Q.QTabBar):
        for number in range(widget.count()):
            box = _box(widget, window, widget.tabRect(number))
            states = ["selected"] if number == widget.currentIndex() else []
            yield from _row("tab", cut(box, clip), states, widget.tabText(number))
    elif isinstance(widget, (_Q.QMenu, _Q.QMenuBar)):
        yield from _menu_items(widget, window, clip)
    elif isinstance(widget, _Q.QHeaderView):
        yield from _headers(widget, window, clip)
    elif isinstance(widget, _Q.QAbstractItemView):
        yield from _cells(widget, window, clip)


def _menu_items(menu: Any, window: Any, clip: Rect) -> Iterator[Row]:
    for action in menu.actions():
        if action.isSeparator() or not action.isVisible():
            continue
        states = ["checked"] if action.isChecked() else []
        if not action.isEnabled():
            states.append("disabled")
        if action == menu.activeAction():
            states.append("selected")
        box = _box(menu, window, menu.actionGeometry(action))
        yield from _row("menu item", cut(box, clip), states, action.text())


def _headers(header: Any, window: Any, clip: Rect) -> Iterator[Row]:
    across = header.orientation() == QtCore.Qt.Horizontal
    for section in range(header.count()):
        start, size = header.sectionViewportPosition(section), header.sectionSize(section)
        rect = QtCore.QRect(start, 0, size, header.height())
        if not across:
            rect = QtCore.QRect(0, start, header.width(), size)
        box = _box(header.viewport(), window, rect)
        name = str(header.model().headerData(section, header.orientation()) or "")
        yield from _row("table cell", cut(box, clip), [], name)


def _cells(view: Any, window: Any, clip: Rect) -> Iterator[Row]:
    """Report the items of a list, tree or table that are scrolled into view."""
    role = "table cell" if isinstance(view, _Q.QTableView) else "list item"
    port = _box(view.viewport(), window)
    bar = view.verticalScrollBar()
    if bar.isVisible():  # in some styles it floats above the items
        port = meet(port, (port[0], port[1], _box(bar, window)[0], port[3]))
    for index in _indices(view, view.rootIndex()):
        rect = view.visualRect(index)
        if rect.isEmpty():
            continue
        states = ["selected"] if view.selectionModel().isSelected(index) else []
        if isinstance(view, _Q.QTreeView) and view.isExpanded(index):
            states.append("expanded")
        box = cut(_box(view.viewport(), window, rect), meet(clip, port))
        yield from _row(role, box, states, str(index.data() or ""))


def _indices(view: Any, parent: Any) -> Iterator[Any]:
    model = view.model()
    columns = 1 if isinstance(view, _Q.QListView) else model.columnCount(parent)
    for row in range(model.rowCount(parent)):
        for column in range(columns):
            index = model.index(row, column, parent)
            yield index
            if column == 0 and isinstance(view, _Q.QTreeView) and view.isExpanded(index):
                yield from _indices(view, index)
