"""Shows composed windows with Qt 5 and reports their widgets; run by the system's Python.

    python3 qt.py STYLE KVANTUM_THEME PALETTE FONT SIZE ICON_THEME

Commands and answers are those of gtk.py.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from PyQt5 import QtCore, QtGui, QtWidgets  # type: ignore[import-not-found]
from qt_truth import report_windows  # type: ignore[import-not-found]

__all__ = ["Builder", "Gallery", "choose_palette", "main"]

Node = dict[str, Any]

SETTLE_MS = 350
"""The time in which a window is mapped, drawn and past its first animations."""
DARK, LIGHT = QtGui.QColor(45, 45, 48), QtGui.QColor(230, 230, 230)


class Builder:
    """Builds the widgets of composed windows."""

    def __init__(self) -> None:
        self.focus: Any = None

    def window(self, node: Node) -> Any:
        """Build a window; it is not shown yet."""
        window = QtWidgets.QMainWindow()
        window.setWindowTitle(node["title"])
        window.resize(node["width"], node["height"])
        window.dialog = node["dialog"]
        for menu in node["menus"]:
            self.fill_menu(window.menuBar().addMenu(menu["name"]), menu["items"])
        if node["tools"]:
            self.fill_tool_bar(window.addToolBar("tools"), node["tools"])
        if node["status"]:
            window.statusBar().showMessage(node["status"])
        centre = QtWidgets.QWidget()
        column = QtWidgets.QVBoxLayout(centre)
        column.addWidget(self.build(node["body"]), 1)
        if node["buttons"]:
            row = QtWidgets.QHBoxLayout()
            row.addStretch(1)
            for button in node["buttons"]:
                row.addWidget(self.build(button))
            column.addLayout(row)
        window.setCentralWidget(centre)
        return window

    def fill_menu(self, menu: Any, items: list[Node]) -> None:
        """Add the items of a menu."""
        for item in items:
            if item["kind"] == "separator":
                menu.addSeparator()
                continue
            action = menu.addAction(item["name"])
            action.setCheckable(item["kind"] == "check")
            action.setChecked("checked" in item["states"])
            action.setEnabled("disabled" not in item["states"])

    def fill_tool_bar(self, bar: Any, tools: list[Node]) -> None:
        """Add the tools of a tool bar."""
        for tool in tools:
            if tool["kind"] == "separator":
                bar.addSeparator()
                continue
            action = bar.addAction(QtGui.QIcon.fromTheme(tool["icon"]), tool["icon"])
            action.setCheckable(tool["toggle"])
            action.setChecked(tool["toggle"] and "checked" in tool["states"])
            action.setEnabled("disabled" not in tool["states"])

    def build(self, node: Node) -> Any:
        """Build a node and what it holds."""
        widget = getattr(self, "_build_" + node["kind"])(node)
        states = node.get("states", ())
        if "disabled" in states:
            widget.setEnabled(False)
        elif "focused" in states:
            self.focus = widget
        return widget

    def pack(self, node: Node, layout: Any) -> Any:
        """Lay out the children of a node."""
        holder = QtWidgets.QWidget()
        holder.setLayout(layout)
        layout.setContentsMargins(0, 0, 0, 0)
        grown = False
        for child in node["children"]:
            grows = child.get("grow", False) or node.get("even", False)
            layout.addWidget(self.build(child), int(grows))
            grown = grown or grows
        if not grown:
            layout.addStretch(1)
        return holder

    def _build_column(self, node: Node) -> Any:
        layout = QtWidgets.QVBoxLayout()
        layout.setSpacing(2 if node.get("tight") else 8)
        return self.pack(node, layout)

    def _build_row(self, node: Node) -> Any:
        return self.pack(node, QtWidgets.QHBoxLayout())

    def _build_grid(self, node: Node) -> Any:
        holder = QtWidgets.QWidget()
        grid = QtWidgets.QGridLayout(holder)
        for top, row in enumerate(node["rows"]):
            for left, child in enumerate(row):
                grid.addWidget(self.build(child), top, left)
        return holder

    def _build_form(self, node: Node) -> Any:
        holder = QtWidgets.QWidget()
        form = QtWidgets.QFormLayout(holder)
        for label, entry in node["rows"]:
            form.addRow(label["name"], self.build(entry))
        return holder

    def _build_group(self, node: Node) -> Any:
        group = QtWidgets.QGroupBox(node["name"])
        QtWidgets.QVBoxLayout(group).addWidget(self.build(node["children"][0]))
        return group

    def _build_expander(self, node: Node) -> Any:
        return self._build_group(node)

    def _build_scroll(self, node: Node) -> Any:
        area = QtWidgets.QScrollArea(widgetResizable=True)
        area.setWidget(self.build(node["children"][0]))
        return area

    def _build_tabs(self, node: Node) -> Any:
        tabs = QtWidgets.QTabWidget()
        for title, child in zip(node["titles"], node["children"], strict=True):
            tabs.addTab(self.build(child), title)
        tabs.setCurrentIndex(node["chosen"])
        return tabs

    def _build_split(self, node: Node) -> Any:
        splitter = QtWidgets.QSplitter()
        for child in node["children"]:
            splitter.addWidget(self.build(child))
        splitter.setSizes([200, 500])
        return splitter

    def _build_separator(self, node: Node) -> Any:
        return QtWidgets.QFrame(frameShape=QtWidgets.QFrame.VLine)

    def _build_label(self, node: Node) -> Any:
        return QtWidgets.QLabel(node["name"], wordWrap=len(node["name"]) > 26)

    def _build_heading(self, node: Node) -> Any:
        label = QtWidgets.QLabel(node["name"], objectName="heading")
        font = label.font()
        font.setBold(True)
        font.setPointSizeF(font.pointSizeF() * 1.3)
        label.setFont(font)
        return label

    def _build_link(self, node: Node) -> Any:
        label = QtWidgets.QLabel(objectName="link")
        label.setText(f'<a href="https://example.org">{node["name"]}</a>')
        label.title = node["name"]
        return label

    def _build_button(self, node: Node) -> Any:
        button = QtWidgets.QPushButton(node["name"])
        if node.get("icon"):
            button.setIcon(QtGui.QIcon.fromTheme(node["icon"]))
        button.setFlat(node.get("flat", False))
        return button

    def _build_toggle(self, node: Node) -> Any:
        button = self._build_button(node)
        button.setCheckable(True)
        button.setChecked("checked" in node["states"])
        return button

    def _build_icon(self, node: Node) -> Any:
        button = QtWidgets.QToolButton(autoRaise=node["flat"], checkable=node["toggle"])
        button.setIcon(QtGui.QIcon.fromTheme(node["icon"]))
        button.setToolTip(node["icon"])
        button.setChecked(node["toggle"] and "checked" in node["states"])
        return button

    def _build_image(self, node: Node) -> Any:
        label = QtWidgets.QLabel(objectName="image")
        label.setPixmap(QtGui.QIcon.fromTheme(node["icon"]).pixmap(node["size"], node["size"]))
        label.title = node["icon"]
        return label

    def _build_field(self, node: Node) -> Any:
        entry = QtWidgets.QLineEdit(node["text"], placeholderText=node["hint"])
        if node["secret"]:
            entry.setEchoMode(QtWidgets.QLineEdit.Password)
        return entry

    def _build_spin(self, node: Node) -> Any:
        spin = QtWidgets.QSpinBox(maximum=5000)
        spin.setValue(node["value"])
        return spin

    def _build_combo(self, node: Node) -> Any:
        combo = QtWidgets.QComboBox(editable=node["editable"])
        combo.addItems(node["options"])
        return combo

    def _build_slider(self, node: Node) -> Any:
        slider = QtWidgets.QSlider(QtCore.Qt.Horizontal)
        slider.setValue(int(99 * node["value"]))
        return slider

    def _build_progress(self, node: Node) -> Any:
        bar = QtWidgets.QProgressBar()
        bar.setValue(int(100 * node["value"]))
        return bar

    def _build_switch(self, node: Node) -> Any:
        check = self._build_check(node)
        check.setText("")
        return check

    def _build_check(self, node: Node) -> Any:
        check = QtWidgets.QCheckBox(node["name"])
        check.setChecked("checked" in node["states"])
        return check

    def _build_radios(self, node: Node) -> Any:
        holder = QtWidgets.QWidget()
        kind = QtWidgets.QHBoxLayout if node["across"] else QtWidgets.QVBoxLayout
        layout = kind(holder)
        for number, name in enumerate(node["names"]):
            radio = QtWidgets.QRadioButton(name)
            radio.setChecked(number == node["chosen"])
            layout.addWidget(radio)
        layout.addStretch(1)
        return holder

    def _build_area(self, node: Node) -> Any:
        return QtWidgets.QPlainTextEdit(node["text"])

    def _build_list(self, node: Node) -> Any:
        view = QtWidgets.QListWidget()
        for number, name in enumerate(node["rows"]):
            icon = QtGui.QIcon.fromTheme(node["icons"][number]) if node["icons"] else QtGui.QIcon()
            view.addItem(QtWidgets.QListWidgetItem(icon, name))
        if node["chosen"] >= 0:
            view.setCurrentRow(node["chosen"])
        return view

    def _build_table(self, node: Node) -> Any:
        view = QtWidgets.QTableWidget(len(node["rows"]), len(node["columns"]))
        view.setHorizontalHeaderLabels(node["columns"])
        view.horizontalHeader().setVisible(node["headed"])
        view.verticalHeader().setVisible(node["chosen"] % 3 == 0)
        view.setSelectionBehavior(QtWidgets.QAbstractItemView.SelectRows)
        for number, row in enumerate(node["rows"]):
            for column, text in enumerate(row):
                view.setItem(number, column, QtWidgets.QTableWidgetItem(text))
        if node["chosen"] >= 0:
            view.selectRow(node["chosen"])
        return view

    def _build_tree(self, node: Node) -> Any:
        view = QtWidgets.QTreeWidget(headerHidden=True)
        for number, (name, children) in enumerate(node["rows"]):
            item = QtWidgets.QTreeWidgetItem([name])
            item.addChildren([QtWidgets.QTreeWidgetItem([child]) for child in children])
            view.addTopLevelItem(item)
            item.setExpanded(number % 2 == 0)
        return view


class Gallery(QtCore.QObject):  # type: ignore[misc]
    """Answers the commands: shows windows, then reports them."""

    def __init__(self) -> None:
        super().__init__()
        self._windows: list[Any] = []
        self._input = QtCore.QSocketNotifier(0, QtCore.QSocketNotifier.Read)
        self._input.activated.connect(self._on_input)

    def _on_input(self, *_: Any) -> None:
        line = sys.stdin.readline()
        if not line:
            os._exit(0)
        command = json.loads(line)
        if command["do"] == "show":
            self._show(command["windows"])
            QtCore.QTimer.singleShot(SETTLE_MS, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        sys.stdout.write(json.dumps(report_windows()) + "\n")
        sys.stdout.flush()

    def _show(self, nodes: list[Node]) -> None:
        while popup := QtWidgets.QApplication.activePopupWidget():
            popup.close()
        old, self._windows = self._windows, []
        for node in nodes:
            builder = Builder()
            window = builder.window(node)
            window.show()
            if builder.focus is not None:
                builder.focus.setFocus()
            self._windows.append(window)
        for window in old:
            window.close()
            window.deleteLater()


def choose_palette(name: str) -> Any:
    """Return a palette of that name: "dark" or "tinted"."""
    if name == "dark":
        palette = QtGui.QPalette(
            LIGHT, DARK.lighter(130), LIGHT, DARK, LIGHT, LIGHT, LIGHT, LIGHT, DARK
        )
        palette.setColor(QtGui.QPalette.Window, DARK)
        palette.setColor(QtGui.QPalette.Base, DARK.darker(130))
        palette.setColor(QtGui.QPalette.Highlight, QtGui.QColor(42, 130, 218))
        for group in (QtGui.QPalette.Text, QtGui.QPalette.ButtonText, QtGui.QPalette.WindowText):
            palette.setColor(QtGui.QPalette.Disabled, group, QtGui.QColor(120, 120, 120))
        return palette
    return QtGui.QPalette(QtGui.QColor(225, 215, 195))


def main() -> None:
    """Run the gallery that the arguments describe."""
    style, theme, palette, font, size, icons = sys.argv[1:7]
    if theme:
        folder = Path(os.environ["XDG_CONFIG_HOME"]) / "Kvantum"
        folder.mkdir(exist_ok=True)
        (folder / "kvantum.kvconfig").write_text(f"[General]\ntheme={theme}\n")
    application = QtWidgets.QApplication(["gallery"])
    application.setStyle(style)
    application.setFont(QtGui.QFont(font, int(size)))
    if palette:
        application.setPalette(choose_palette(palette))
    QtGui.QIcon.setThemeName(icons)
    gallery = Gallery()
    application.gallery = gallery
    application.exec()


if __name__ == "__main__":
    main()
