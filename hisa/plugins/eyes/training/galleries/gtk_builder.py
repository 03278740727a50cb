"""Builds composed windows of the widgets of GTK 3 or 4."""

from __future__ import annotations

from typing import Any

__all__ = ["Builder"]

Node = dict[str, Any]


class Builder:
    """Builds the widgets of composed windows."""

    def __init__(self, gtk: Any, gio: Any, version: int) -> None:
        self.gtk, self.gio, self.new = gtk, gio, version == 4
        self.focus: Any = None

    def window(self, node: Node) -> Any:
        """Build a window; it is not shown yet."""
        gtk = self.gtk
        window = gtk.Window(title=node["title"])
        window.set_default_size(node["width"], node["height"])
        column = gtk.Box(orientation=gtk.Orientation.VERTICAL)
        tools = [self.build(tool) for tool in node["tools"]]
        if node["header_bar"]:
            bar = gtk.HeaderBar()
            if not self.new:
                bar.set_show_close_button(True)
                bar.set_title(node["title"])
            for number, tool in enumerate(tools[:6]):
                (bar.pack_end if number > 3 else bar.pack_start)(tool)
            tools = []
            window.set_titlebar(bar)
        if node["menus"]:
            self.put(column, self.menu_bar(node["menus"], window))
        if tools:
            self.put(column, self.line(tools, margin=3, gap=1))
        body = self.build(node["body"])
        self.margin(body, 10)
        self.put(column, body, grow=True)
        if node["buttons"]:
            row = self.line([self.build(button) for button in node["buttons"]], margin=8, gap=6)
            row.set_halign(gtk.Align.END)
            self.put(column, row)
        if node["status"]:
            self.put(column, gtk.Label(label=node["status"], xalign=0))
        self.fill(window, column)
        return window

    def build(self, node: Node) -> Any:
        """Build a node and what it holds."""
        widget = getattr(self, "_build_" + node["kind"])(node)
        states = node.get("states", ())
        if "disabled" in states:
            widget.set_sensitive(False)
        elif "focused" in states:
            self.focus = widget
        return widget

    def put(self, box: Any, child: Any, grow: bool = False) -> None:
        """Append a child to a box; with ``grow`` it takes the room that is left."""
        if self.new:
            if grow and box.get_orientation() == self.gtk.Orientation.VERTICAL:
                child.set_vexpand(True)
            elif grow:
                child.set_hexpand(True)
            box.append(child)
        else:
            box.pack_start(child, grow, grow, 0)

    def fill(self, holder: Any, child: Any) -> Any:
        """Set the only child of a holder; return the holder."""
        (holder.set_child if self.new else holder.add)(child)
        return holder

    def margin(self, widget: Any, size: int) -> None:
        """Set the same margin on all sides."""
        for side in ("start", "end", "top", "bottom"):
            getattr(widget, "set_margin_" + side)(size)

    def line(self, children: list[Any], margin: int = 0, gap: int = 6) -> Any:
        """Set ``children`` side by side; ``gap`` and ``margin`` are in pixels."""
        row = self.gtk.Box(spacing=gap)
        self.margin(row, margin)
        for child in children:
            self.put(row, child)
        return row

    def start(self, widget: Any) -> Any:
        """Keep a widget at its own width at the start of its place."""
        widget.set_halign(self.gtk.Align.START)
        return widget

    def menu_bar(self, menus: list[Node], window: Any) -> Any:
        """Build a menu bar with its menus."""
        if self.new:
            return self.menu_model_bar(menus, window)
        bar = self.gtk.MenuBar()
        for menu in menus:
            top, drop = self.gtk.MenuItem(label=menu["name"]), self.gtk.Menu()
            for item in menu["items"]:
                kind = {"item": "MenuItem", "check": "CheckMenuItem"}.get(item["kind"])
                entry = getattr(self.gtk, kind or "SeparatorMenuItem")()
                if kind:
                    entry.set_label(item["name"])
                if kind == "CheckMenuItem":
                    entry.set_active("checked" in item["states"])
                entry.set_sensitive("disabled" not in item["states"])
                drop.append(entry)
            top.set_submenu(drop)
            bar.append(top)
        return bar

    def menu_model_bar(self, menus: list[Node], window: Any) -> Any:
        """Build GTK 4's menu bar, whose items need an action."""
        model, actions = self.gio.Menu(), self.gio.SimpleActionGroup()
        actions.add_action(self.gio.SimpleAction(name="act"))
        window.insert_action_group("win", actions)
        for menu in menus:
            section, drop = self.gio.Menu(), self.gio.Menu()
            for item in menu["items"]:
                if item["kind"] == "separator":
                    drop.append_section(None, section)
                    section = self.gio.Menu()
                else:
                    off = "disabled" in item["states"]
                    section.append(item["name"], "win.none" if off else "win.act")
            drop.append_section(None, section)
            model.append_submenu(menu["name"], drop)
        return self.gtk.PopoverMenuBar.new_from_model(model)

    def _build_column(self, node: Node) -> Any:
        gap = 2 if node.get("tight") else 10
        box = self.gtk.Box(orientation=self.gtk.Orientation.VERTICAL, spacing=gap)
        for child in node["children"]:
            self.put(box, self.build(child), grow=child.get("grow", False))
        return box

    def _build_row(self, node: Node) -> Any:
        box = self.gtk.Box(spacing=8, homogeneous=node.get("even", False))
        for child in node["children"]:
            self.put(
                box, self.build(child), grow=child.get("grow", False) or node.get("even", False)
            )
        return box

    def _build_grid(self, node: Node) -> Any:
        grid = self.gtk.Grid(column_spacing=4, row_spacing=4)
        for top, row in enumerate(node["rows"]):
            for left, child in enumerate(row):
                grid.attach(self.build(child), left, top, 1, 1)
        return grid

    def _build_form(self, node: Node) -> Any:
        grid = self._build_grid(node)
        for number, row in enumerate(node["rows"]):
            grid.get_child_at(0, number).set_xalign(1)
            if row[1]["kind"] in ("field", "slider"):
                grid.get_child_at(1, number).set_hexpand(True)
        return grid

    def _build_group(self, node: Node) -> Any:
        inner = self.build(node["children"][0])
        self.margin(inner, 8)
        return self.fill(self.gtk.Frame(label=node["name"]), inner)

    def _build_expander(self, node: Node) -> Any:
        expander = self.gtk.Expander(label=node["name"], expanded=True)
        return self.fill(expander, self.build(node["children"][0]))

    def _build_scroll(self, node: Node) -> Any:
        return self.scrolled(self.build(node["children"][0]), 120)

    def scrolled(self, child: Any, least: int) -> Any:
        """Put a widget into a frame with scroll bars."""
        frame = self.gtk.ScrolledWindow(min_content_height=least)
        frame.set_overlay_scrolling(False)
        return self.fill(frame, child)

    def _build_tabs(self, node: Node) -> Any:
        book = self.gtk.Notebook(scrollable=True)
        for title, child in zip(node["titles"], node["children"], strict=True):
            page = self.build(child)
            self.margin(page, 8)
            book.append_page(page, self.gtk.Label(label=title))
            page.show()
        book.set_current_page(node["chosen"])
        return book

    def _build_split(self, node: Node) -> Any:
        paned, (first, second) = self.gtk.Paned(position=200), map(self.build, node["children"])
        if self.new:
            paned.set_start_child(first)
            paned.set_end_child(second)
        else:
            paned.pack1(first, False, True)
            paned.pack2(second, True, True)
        return paned

    def _build_separator(self, node: Node) -> Any:
        return self.gtk.Separator(orientation=self.gtk.Orientation.VERTICAL)

    def _build_label(self, node: Node) -> Any:
        label = self.gtk.Label(label=node["name"], xalign=0)
        (label.set_wrap if self.new else label.set_line_wrap)(True)
        label.set_max_width_chars(60)
        return label

    def _build_heading(self, node: Node) -> Any:
        label = self.start(self.gtk.Label(xalign=0))
        escaped = node["name"].replace("&", "&amp;")
        label.set_markup(f"<b><span size='large'>{escaped}</span></b>")
        label.get_style_context().add_class("heading")
        return label

    def _build_link(self, node: Node) -> Any:
        return self.start(self.gtk.LinkButton(uri="https://example.org", label=node["name"]))

    def _build_button(self, node: Node) -> Any:
        return self.dressed(self.gtk.Button(), node)

    def _build_toggle(self, node: Node) -> Any:
        return self.dressed(self.gtk.ToggleButton(active="checked" in node["states"]), node)

    def dressed(self, button: Any, node: Node) -> Any:
        """Give a button its text, its picture or both."""
        if node.get("flat"):
            button.get_style_context().add_class("flat")
        parts = []
        if node.get("icon"):
            parts.append(self.picture(node["icon"], 16))
        if node["kind"] != "icon":
            parts.append(self.gtk.Label(label=node["name"]))
        content = parts[0] if len(parts) == 1 else self.line(parts)
        content.set_halign(self.gtk.Align.CENTER)
        return self.fill(button, content)

    def picture(self, icon: str, size: int) -> Any:
        """Build an image of a named icon; one that the theme lacks becomes another."""
        theme = self.icon_theme()
        if not theme.has_icon(icon):
            names = sorted(theme.get_icon_names() if self.new else theme.list_icons(None))
            icon = names[sum(map(ord, icon)) % len(names)]
        image = self.gtk.Image()
        extra = () if self.new else (self.gtk.IconSize.BUTTON,)
        image.set_from_icon_name(icon, *extra)
        image.set_pixel_size(size)
        return image

    def icon_theme(self) -> Any:
        """Return the icon theme in use."""
        if not self.new:
            return self.gtk.IconTheme.get_default()
        return self.gtk.IconTheme.get_for_display(self.gtk.Label().get_display())

    def _build_icon(self, node: Node) -> Any:
        kind = self.gtk.ToggleButton if node["toggle"] else self.gtk.Button
        button = self.dressed(kind(), node)
        if node["toggle"]:
            button.set_active("checked" in node["states"])
        return button

    def _build_image(self, node: Node) -> Any:
        return self.start(self.picture(node["icon"], node["size"]))

    def _build_field(self, node: Node) -> Any:
        entry = self.gtk.Entry(text=node["text"], placeholder_text=node["hint"] or None)
        entry.set_visibility(not node["secret"])
        return entry

    def _build_spin(self, node: Node) -> Any:
        spin = self.gtk.SpinButton.new_with_range(0, 5000, 1)
        spin.set_value(node["value"])
        return self.start(spin)

    def _build_combo(self, node: Node) -> Any:
        if self.new and not node["editable"]:
            return self.start(self.gtk.DropDown.new_from_strings(node["options"]))
        make = self.gtk.ComboBoxText
        combo = make.new_with_entry() if node["editable"] else make()
        for option in node["options"]:
            combo.append_text(option)
        combo.set_active(0)
        return self.start(combo)

    def _build_slider(self, node: Node) -> Any:
        scale = self.gtk.Scale.new_with_range(self.gtk.Orientation.HORIZONTAL, 0, 100, 1)
        scale.set_value(100 * node["value"])
        scale.set_draw_value(node["value"] > 0.5)
        scale.set_size_request(120, -1)
        return scale

    def _build_progress(self, node: Node) -> Any:
        return self.gtk.ProgressBar(fraction=node["value"])

    def _build_switch(self, node: Node) -> Any:
        switch = self.start(self.gtk.Switch(active="checked" in node["states"]))
        switch.set_valign(self.gtk.Align.CENTER)
        return switch

    def _build_check(self, node: Node) -> Any:
        check = self.gtk.CheckButton(label=node["name"], active="checked" in node["states"])
        return self.start(check)

    def _build_radios(self, node: Node) -> Any:
        box = self.gtk.Box(orientation=int(not node["across"]), spacing=4)
        first: Any = None
        for number, name in enumerate(node["names"]):
            if self.new:
                radio = self.gtk.CheckButton(label=name)
                radio.set_group(first)
            else:
                radio = self.gtk.RadioButton.new_with_label_from_widget(first, name)
            first = first or radio
            radio.set_active(number == node["chosen"])
            self.put(box, self.start(radio))
        return box

    def _build_area(self, node: Node) -> Any:
        view = self.gtk.TextView(wrap_mode=self.gtk.WrapMode.WORD, left_margin=4)
        view.get_buffer().set_text(node["text"])
        return self.scrolled(view, 80)

    def _build_list(self, node: Node) -> Any:
        rows = self.gtk.ListBox()
        for number, name in enumerate(node["rows"]):
            parts = [self.picture(node["icons"][number], 16)] if node["icons"] else []
            row, line = self.gtk.ListBoxRow(), self.line([*parts, self.gtk.Label(label=name)])
            self.margin(line, 4)
            self.fill(row, line)
            (rows.append if self.new else rows.add)(row)
            if number == node["chosen"]:
                rows.select_row(row)
        return self.scrolled(rows, 130)

    def _build_table(self, node: Node) -> Any:
        store = self.gtk.ListStore(*[str] * len(node["columns"]))
        for row in node["rows"]:
            store.append(row)
        return self.tree_view(store, node, node["columns"])

    def _build_tree(self, node: Node) -> Any:
        store = self.gtk.TreeStore(str)
        for name, children in node["rows"]:
            parent = store.append(None, [name])
            for child in children:
                store.append(parent, [child])
        return self.tree_view(store, {**node, "headed": False}, [""])

    def tree_view(self, store: Any, node: Node, columns: list[str]) -> Any:
        """Build the view of a ``store`` with ``columns``; ``node`` describes it."""
        view = self.gtk.TreeView(model=store, headers_visible=node["headed"])
        for number, title in enumerate(columns):
            cell = self.gtk.CellRendererText()
            column = self.gtk.TreeViewColumn(title or "-", cell, text=number)
            column.set_resizable(True)
            column.set_clickable(True)
            view.append_column(column)
        for number in range(0, len(node["rows"]), 2):
            view.expand_row(self.gtk.TreePath.new_from_indices([number]), False)
        if node["chosen"] >= 0:
            view.get_selection().select_path(self.gtk.TreePath.new_from_indices([node["chosen"]]))
        else:
            view.get_selection().set_mode(self.gtk.SelectionMode.NONE)
        return self.scrolled(view, 130)
