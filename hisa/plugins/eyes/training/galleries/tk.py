"""Shows composed windows with Tk and reports their widgets; run by the system's Python.

    python3 tk.py THEME NUMBER FONT SIZE ICON_THEME SCALE

THEME is one of ttk's own or "ttkthemes", of whose themes NUMBER chooses one. Commands and
answers are those of gtk.py.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import tkinter
from pathlib import Path
from tkinter import font, ttk
from typing import Any

from tk_truth import Mark, report_windows  # type: ignore[import-not-found]

__all__ = ["Builder", "Gallery", "index_icons", "main"]

Node = dict[str, Any]

SETTLE_MS = 350
"""The time in which a window is mapped and drawn."""


@functools.cache
def index_icons(theme: str) -> dict[tuple[str, int], Path]:
    """Return a theme's PNG files by name and size."""
    icons = {}
    for path in sorted(Path("/usr/share/icons", theme).rglob("*.png")):
        for size in (16, 22, 24, 32, 48, 64):
            if str(size) in path.parts or f"{size}x{size}" in path.parts:
                icons[path.stem, size] = path
    return icons


class Builder:
    """Builds the widgets of composed windows."""

    def __init__(self, root: Any, icon_theme: str, scale: int) -> None:
        self.root, self.icon_theme, self.scale = root, icon_theme, scale
        self.marks: dict[str, Mark] = {}
        self.focus: Any = None
        self.images: list[Any] = []

    def window(self, node: Node) -> Any:
        """Build a window with the marks of its widgets."""
        top: Any = tkinter.Toplevel(self.root)
        top.title(node["title"])
        top.geometry(f"{node['width'] * self.scale}x{node['height'] * self.scale}")
        top.dialog, top.marks, top.images = node["dialog"], self.marks, self.images
        if node["menus"]:
            self.fill_menus(top, node["menus"])
        frame = ttk.Frame(top, padding=8)
        frame.pack(fill="both", expand=True)
        if node["status"]:
            ttk.Label(frame, text=node["status"]).pack(side="bottom", anchor="w")
        if node["buttons"]:
            row = ttk.Frame(frame)
            row.pack(side="bottom", anchor="e", pady=4)
            for button in node["buttons"]:
                self.build(row, button).pack(side="left", padx=3)
        if node["tools"]:
            row = ttk.Frame(frame)
            row.pack(anchor="w")
            for tool in node["tools"]:
                self.build(row, tool).pack(side="left", padx=1)
        self.build(frame, node["body"]).pack(fill="both", expand=True)
        return top

    def fill_menus(self, top: Any, menus: list[Node]) -> None:
        """Add a menu bar with its menus."""
        bar = tkinter.Menu(top)
        for menu in menus:
            drop = tkinter.Menu(bar, tearoff=False)
            for item in menu["items"]:
                state: Any = "disabled" if "disabled" in item["states"] else "normal"
                if item["kind"] == "separator":
                    drop.add_separator()
                elif item["kind"] == "check":
                    drop.add_checkbutton(label=item["name"], state=state)
                else:
                    drop.add_command(label=item["name"], state=state)
            bar.add_cascade(label=menu["name"], menu=drop)
        top.configure(menu=bar)

    def build(self, parent: Any, node: Node) -> Any:
        """Build a node and what it holds."""
        widget = getattr(self, "_build_" + node["kind"])(parent, node)
        states = node.get("states", ())
        if "disabled" in states and isinstance(widget, ttk.Widget):
            widget.state(["disabled"])
        elif "focused" in states:
            self.focus = widget
        return widget

    def mark(self, widget: Any, role: str, name: str, states: tuple[str, ...] = ()) -> Any:
        """Note the role, name and states of a widget; return it."""
        self.marks[str(widget)] = Mark(role, name, states)
        return widget

    def _build_column(self, parent: Any, node: Node) -> Any:
        frame = ttk.Frame(parent)
        wide = (
            "field",
            "slider",
            "progress",
            "row",
            "form",
            "group",
            "expander",
            "column",
            "scroll",
        )
        for child in node["children"]:
            grow = child.get("grow", False)
            widget = self.build(frame, child)
            fill = "both" if grow else "x" if child["kind"] in wide else "none"
            pad = 1 if node.get("tight") else 4
            widget.pack(fill=fill, expand=grow, anchor="w", pady=pad * self.scale)
        return frame

    def _build_row(self, parent: Any, node: Node) -> Any:
        frame = ttk.Frame(parent)
        for child in node["children"]:
            grow = child.get("grow", False) or node.get("even", False)
            widget = self.build(frame, child)
            widget.pack(
                side="left", fill="both" if grow else "none", expand=grow, padx=3, anchor="n"
            )
        return frame

    def _build_grid(self, parent: Any, node: Node) -> Any:
        frame = ttk.Frame(parent)
        for top, row in enumerate(node["rows"]):
            for left, child in enumerate(row):
                self.build(frame, child).grid(row=top, column=left, padx=2, pady=2)
        return frame

    def _build_form(self, parent: Any, node: Node) -> Any:
        frame = ttk.Frame(parent)
        frame.columnconfigure(1, weight=1)
        for top, (label, entry) in enumerate(node["rows"]):
            ttk.Label(frame, text=label["name"]).grid(row=top, column=0, sticky="e", padx=4)
            stretched = "we" if entry["kind"] in ("field", "slider") else "w"
            self.build(frame, entry).grid(row=top, column=1, sticky=stretched, pady=2)
        return frame

    def _build_group(self, parent: Any, node: Node) -> Any:
        frame = ttk.Labelframe(parent, text=node["name"], padding=6)
        self.build(frame, node["children"][0]).pack(fill="both", expand=True)
        return frame

    def _build_expander(self, parent: Any, node: Node) -> Any:
        return self._build_group(parent, node)

    def _build_scroll(self, parent: Any, node: Node) -> Any:
        return self.build(parent, node["children"][0])

    def _build_tabs(self, parent: Any, node: Node) -> Any:
        book: Any = ttk.Notebook(parent)
        for title, child in zip(node["titles"], node["children"], strict=True):
            book.add(self.build(book, child), text=title, padding=6)
        book.select(node["chosen"])
        return self.mark(book, "tabs", "")

    def _build_split(self, parent: Any, node: Node) -> Any:
        paned = ttk.Panedwindow(parent, orient="horizontal")
        for weight, child in enumerate(node["children"]):
            paned.add(self.build(paned, child), weight=weight)
        return paned

    def _build_separator(self, parent: Any, node: Node) -> Any:
        return ttk.Separator(parent, orient="vertical")

    def _build_label(self, parent: Any, node: Node) -> Any:
        return ttk.Label(parent, text=node["name"], wraplength=500 * self.scale)

    def _build_heading(self, parent: Any, node: Node) -> Any:
        bold = font.nametofont("TkDefaultFont").copy()
        bold.configure(weight="bold", size=int(bold.actual("size") * 1.3))
        self.images.append(bold)
        return self.mark(ttk.Label(parent, text=node["name"], font=bold), "heading", node["name"])

    def _build_link(self, parent: Any, node: Node) -> Any:
        under = font.nametofont("TkDefaultFont").copy()
        under.configure(underline=True)
        self.images.append(under)
        label = ttk.Label(parent, text=node["name"], font=under, foreground="#1a5fb4")
        return self.mark(label, "link", node["name"])

    def picture(self, name: str, size: int) -> tuple[Any, str]:
        """Load an icon; one that the theme lacks is replaced, always by the same one."""
        icons = index_icons(self.icon_theme)
        if (name, size) not in icons:
            pool = sorted(key for key in icons if key[1] == size) or sorted(icons)
            name, size = pool[sum(map(ord, name)) % len(pool)]
        image = tkinter.PhotoImage(file=str(icons[name, size]), master=self.root)
        self.images.append(image)
        return image, name

    def _build_button(self, parent: Any, node: Node) -> Any:
        extra = {}
        if node.get("icon"):
            extra = {"image": self.picture(node["icon"], 16)[0], "compound": "left"}
        classic = len(node["name"]) % 5 == 0
        kind = tkinter.Button if classic else ttk.Button
        return self.mark(kind(parent, text=node["name"], **extra), "button", node["name"])

    def _build_toggle(self, parent: Any, node: Node) -> Any:
        return self._build_button(parent, node)

    def _build_icon(self, parent: Any, node: Node) -> Any:
        image, name = self.picture(node["icon"], 16 if self.scale == 1 else 32)
        style = "Toolbutton" if node["flat"] else "TButton"
        return self.mark(ttk.Button(parent, image=image, style=style), "icon", name)

    def _build_image(self, parent: Any, node: Node) -> Any:
        image, name = self.picture(node["icon"], 48 if node["size"] > 32 else 32)
        return self.mark(ttk.Label(parent, image=image), "image", name)

    def _build_field(self, parent: Any, node: Node) -> Any:
        entry = ttk.Entry(parent, show="•" if node["secret"] else "")
        entry.insert(0, node["text"])
        return self.mark(entry, "field", node["text"])

    def _build_spin(self, parent: Any, node: Node) -> Any:
        kind = tkinter.Spinbox if node["value"] % 4 == 0 else ttk.Spinbox
        spin = kind(parent, from_=0, to=5000, width=8)
        spin.delete(0, "end")
        spin.insert(0, str(node["value"]))
        return self.mark(spin, "field", str(node["value"]))

    def _build_combo(self, parent: Any, node: Node) -> Any:
        combo = ttk.Combobox(parent, values=node["options"])
        combo.set(node["options"][0])
        if not node["editable"]:
            combo.state(["readonly"])
        return self.mark(combo, "combo box", node["options"][0])

    def _build_slider(self, parent: Any, node: Node) -> Any:
        if node["value"] < 0.3:
            scale: Any = tkinter.Scale(parent, from_=0, to=100, orient="horizontal", length=160)
        else:
            scale = ttk.Scale(parent, from_=0, to=100, length=160 * self.scale)
        scale.set(100 * node["value"])
        return self.mark(scale, "slider", "")

    def _build_progress(self, parent: Any, node: Node) -> Any:
        return ttk.Progressbar(parent, value=100 * node["value"])

    def _build_switch(self, parent: Any, node: Node) -> Any:
        return self._build_check(parent, {**node, "name": ""})

    def _build_check(self, parent: Any, node: Node) -> Any:
        check = ttk.Checkbutton(parent, text=node["name"])
        check.state(["!alternate", "selected" if "checked" in node["states"] else "!selected"])
        return self.mark(check, "check box", node["name"])

    def _build_radios(self, parent: Any, node: Node) -> Any:
        frame = ttk.Frame(parent)
        chosen = tkinter.IntVar(self.root, node["chosen"])
        self.images.append(chosen)
        for number, name in enumerate(node["names"]):
            radio = ttk.Radiobutton(frame, text=name, value=number, variable=chosen)
            radio.pack(side="left" if node["across"] else "top", anchor="w")
            self.mark(radio, "radio", name)
        return frame

    def scrolled(self, parent: Any, make: Any) -> tuple[Any, Any]:
        """Return a frame with a scroll bar, and the widget that ``make`` puts into it."""
        frame = ttk.Frame(parent)
        inner = make(frame)
        kind = tkinter.Scrollbar if len(self.marks) % 4 == 0 else ttk.Scrollbar
        bar = kind(frame, command=inner.yview)
        inner.configure(yscrollcommand=bar.set)
        bar.pack(side="right", fill="y")
        inner.pack(side="left", fill="both", expand=True)
        self.mark(bar, "scroll bar", "")
        return frame, inner

    def _build_area(self, parent: Any, node: Node) -> Any:
        frame, text = self.scrolled(
            parent, lambda frame: tkinter.Text(frame, wrap="word", height=5, width=30)
        )
        text.insert("1.0", node["text"])
        self.mark(text, "field", node["text"][:40])
        return frame

    def _build_list(self, parent: Any, node: Node) -> Any:
        frame, rows = self.scrolled(parent, lambda frame: tkinter.Listbox(frame, height=6))
        rows.insert("end", *node["rows"])
        if node["chosen"] >= 0:
            rows.selection_set(node["chosen"])
        self.mark(rows, "rows", "")
        return frame

    def _build_table(self, parent: Any, node: Node) -> Any:
        columns = [str(number) for number in range(len(node["columns"]))]
        show: Any = "headings" if node["headed"] else ""
        frame, view = self.scrolled(
            parent, lambda frame: ttk.Treeview(frame, columns=columns, show=show, height=6)
        )
        for number, title in enumerate(node["columns"]):
            view.heading(number, text=title)
            view.column(number, width=110 * self.scale)
        keys = [view.insert("", "end", values=row) for row in node["rows"]]
        if node["chosen"] >= 0:
            view.selection_set(keys[node["chosen"]])
        self.mark(view, "cells", "")
        return frame

    def _build_tree(self, parent: Any, node: Node) -> Any:
        frame, view = self.scrolled(
            parent, lambda frame: ttk.Treeview(frame, show="tree", height=6)
        )
        for number, (name, children) in enumerate(node["rows"]):
            branch = view.insert("", "end", text=name, open=number % 2 == 0)
            for child in children:
                view.insert(branch, "end", text=child)
        self.mark(view, "cells", "")
        return frame


class Gallery:
    """Answers the commands: shows windows, then reports them."""

    def __init__(self, icon_theme: str, scale: int) -> None:
        self.root = tkinter.Tk()
        self.root.withdraw()
        self._icons, self._scale = icon_theme, scale
        self._windows: list[Any] = []
        self.root.createfilehandler(sys.stdin, tkinter.READABLE, self._on_input)

    def dress(self, theme: str, number: int, family: str, size: int) -> None:
        """Set the theme (of ``ttkthemes`` that ``number``), font family and size."""
        for name in ("TkDefaultFont", "TkTextFont", "TkMenuFont", "TkHeadingFont"):
            font.nametofont(name).configure(family=family, size=size)
        if theme == "ttkthemes":
            from ttkthemes import ThemedStyle  # type: ignore[import-untyped]

            style = ThemedStyle(self.root)
            names = sorted(set(style.theme_names()))
            style.set_theme(names[number % len(names)])
        else:
            style = ttk.Style(self.root)
            style.theme_use(theme)
        style.configure("Treeview", rowheight=int(size * 2.2))
        ground = style.lookup("TFrame", "background")
        if ground:
            self.root.option_add("*Toplevel.background", ground)
            self.root.option_add("*Menu.background", ground)

    def _on_input(self, *_: Any) -> None:
        line = sys.stdin.readline()
        if not line:
            os._exit(0)
        command = json.loads(line)
        if command["do"] == "show":
            self._show(command["windows"])
            self.root.after(SETTLE_MS, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        sys.stdout.write(json.dumps(report_windows(self.root)) + "\n")
        sys.stdout.flush()

    def _show(self, nodes: list[Node]) -> None:
        for window in self._windows:
            window.destroy()
        self._windows = []
        for node in nodes:
            builder = Builder(self.root, self._icons, self._scale)
            window = builder.window(node)
            if builder.focus is not None:
                builder.focus.focus_set()
            self._windows.append(window)


def main() -> None:
    """Run the gallery that the arguments describe."""
    theme, number, family, size, icons, scale = sys.argv[1:7]
    gallery = Gallery(icons, int(scale))
    gallery.dress(theme, int(number), family, int(size))
    gallery.root.mainloop()


if __name__ == "__main__":
    main()
