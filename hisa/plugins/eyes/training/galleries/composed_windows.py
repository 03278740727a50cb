"""Composes random windows as plain data; a gallery builds them with its toolkit.

A window is ``{"title", "dialog", "menus", "tools", "body", "buttons", "status", "width",
"height"}``; its body is a tree of nodes ``{"kind": "button", "name": "Save", ...}``.
"""

from __future__ import annotations

import gettext
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Node", "Vocabulary", "compose_window", "languages_with_texts", "read_vocabulary"]

Node = dict[str, Any]

_LOCALES = Path("/usr/share/locale")
_DOMAINS = ("gtk30", "gtk20", "libfm", "mousepad", "pcmanfm", "libxfce4ui", "kio5", "xfwm4")
_MESSAGE_FILE = "LC_MESSAGES/gtk30.mo"
_LONGEST_LABEL = 26
_LONGEST_SENTENCE = 160


@dataclass(frozen=True)
class Vocabulary:
    """The texts and icon names that windows are composed of."""

    labels: tuple[str, ...]
    """Short texts of real programs, as "Save As"."""
    sentences: tuple[str, ...]
    """Longer texts of real programs."""
    icons: tuple[str, ...]
    """Icon names of the freedesktop naming specification, as "document-save"."""


def languages_with_texts() -> list[str]:
    """Return the languages into which GTK's own texts are translated on this machine."""
    return sorted(path.parts[-3] for path in _LOCALES.glob(f"*/{_MESSAGE_FILE}"))


def read_vocabulary(language: str, icons: list[str]) -> Vocabulary:
    """Read the texts of installed programs in a language.

    Args:
        language: a folder of /usr/share/locale, as "de"; "en" takes the untranslated texts.
        icons: names of icons that the icon themes have.
    """
    texts: set[str] = set()
    for domain in _DOMAINS:
        catalog = gettext.translation(
            domain, _LOCALES, ["de" if language == "en" else language], fallback=True
        )
        pairs = getattr(catalog, "_catalog", {})
        texts.update(
            _plain(key if language == "en" else value)
            for key, value in pairs.items()
            if isinstance(key, str) and isinstance(value, str)
        )
    texts = {text for text in texts if text and not re.search(r"[%|<>{}\\\n\x04]", text)}
    return Vocabulary(
        tuple(sorted(text for text in texts if len(text) <= _LONGEST_LABEL)) or ("OK",),
        tuple(sorted(t for t in texts if _LONGEST_LABEL < len(t) <= _LONGEST_SENTENCE)) or ("OK",),
        tuple(sorted(icons)) or ("image-missing",),
    )


def _plain(text: str) -> str:
    """Drop the marks of access keys: "_Save", "保存(_S)"."""
    return re.sub(r"\(_\w\)|\(&\w\)|[_&]", "", text).strip()


def compose_window(seed: int, words: Vocabulary, width: int, height: int) -> Node:
    """Compose a window of at most that size.

    Args:
        seed: the same seed and words compose the same window.
        words: the texts and icons to use.
        width: the greatest width in logical pixels.
        height: the greatest height in logical pixels.
    """
    return _Composer(random.Random(seed), words).compose_window(width, height)


class _Composer:
    def __init__(self, rng: random.Random, words: Vocabulary) -> None:
        self._rng = rng
        self._words = words
        self._dense = rng.random() < 0.4

    def compose_window(self, width: int, height: int) -> Node:
        rng = self._rng
        dialog = rng.random() < 0.4
        share = (0.35, 0.75) if dialog else (0.55, 1.0)
        width, height = (max(220, int(v * rng.uniform(*share))) for v in (width, height))
        window: Node = {"title": self._label(), "dialog": dialog, "width": width, "height": height}
        window["menus"] = [] if dialog or rng.random() < 0.4 else self._menus()
        tools = rng.random() < (0.1 if dialog else 0.7)
        window["tools"] = [self._tool() for _ in range(rng.randint(3, 12))] if tools else []
        window["status"] = self._sentence()[:60] if rng.random() < 0.3 and not dialog else ""
        bar = dialog or rng.random() < 0.2
        window["buttons"] = [self._button() for _ in range(rng.randint(1, 3))] if bar else []
        window["header_bar"] = rng.random() < 0.5
        window["body"] = self._body(width, height)
        return window

    def _body(self, width: int, height: int) -> Node:
        draw = self._rng.random()
        if draw < 0.25:
            titles = [self._label() for _ in range(self._rng.randint(2, 5))]
            pages = [self._page(width, height) for _ in titles]
            chosen = self._rng.randrange(len(titles))
            return {"kind": "tabs", "titles": titles, "children": pages, "chosen": chosen}
        if draw < 0.45 and width > 450:
            side = self._rng.choice((self._list, self._tree))()
            return {"kind": "split", "children": [side, self._page(width * 2 // 3, height)]}
        return self._page(width, height)

    def _page(self, width: int, height: int) -> Node:
        """Stack sections, or set them in two columns in a wide window."""
        if width > 600 and self._rng.random() < 0.65:
            halves = [self._page(width // 2, height) for _ in range(2)]
            return {"kind": "row", "children": halves, "even": True}
        most = max(1, height // 120)
        sections = [self._section() for _ in range(self._rng.randint((most + 1) // 2, most))]
        page: Node = {"kind": "column", "children": sections}
        if self._rng.random() < 0.3:
            return {"kind": "scroll", "children": [page]}
        return page

    def _section(self) -> Node:
        build = self._rng.choice(
            (
                *(self._form, self._form, self._form, self._form, self._form),
                *(self._checks, self._checks, self._radios, self._switches, self._switches),
                *(self._sliders, self._buttons, self._buttons, self._icons, self._keypad),
                *(self._text, self._text, self._list, self._table, self._table),
                *(self._tree, self._area, self._pictures),
            )
        )
        section = build()
        if self._rng.random() < 0.25 and section["kind"] not in ("list", "table", "tree", "area"):
            kind = self._rng.choice(("group", "group", "expander"))
            return {"kind": kind, "name": self._label(), "children": [section]}
        return section

    def _label(self) -> str:
        return self._rng.choice(self._words.labels)

    def _sentence(self) -> str:
        return self._rng.choice(self._words.sentences)

    def _icon(self) -> str:
        return self._rng.choice(self._words.icons)

    def _leaf(self, kind: str, **more: Any) -> Node:
        """Make a node without children; some are disabled or hold the focus."""
        states = [
            state
            for state, chance in (("disabled", 0.12), ("focused", 0.06), ("checked", 0.4))
            if self._rng.random() < chance
        ]
        return {"kind": kind, "name": self._label(), "states": states, **more}

    def _button(self) -> Node:
        icon = self._icon() if self._rng.random() < 0.2 else ""
        kind = "toggle" if self._rng.random() < 0.1 else "button"
        return self._leaf(kind, icon=icon, flat=self._rng.random() < 0.1)

    def _tool(self) -> Node:
        if self._rng.random() < 0.12:
            return self._leaf("separator")
        flat, toggle = self._rng.random() < 0.6, self._rng.random() < 0.15
        return self._leaf("icon", icon=self._icon(), flat=flat, toggle=toggle)

    def _input(self) -> Node:
        draw = self._rng.random()
        if draw < 0.4:
            text = "" if self._rng.random() < 0.4 else self._label()
            hint = self._label() if self._rng.random() < 0.3 else ""
            return self._leaf("field", text=text, hint=hint, secret=self._rng.random() < 0.1)
        if draw < 0.55:
            return self._leaf("spin", value=self._rng.randint(0, 2000))
        if draw < 0.93:
            options = [self._label() for _ in range(self._rng.randint(2, 9))]
            return self._leaf("combo", options=options, editable=self._rng.random() < 0.2)
        return self._leaf("slider", value=self._rng.random())

    def _form(self) -> Node:
        count = self._rng.randint(2, 8)
        rows = [
            [{"kind": "label", "name": self._label() + ":"}, self._input()] for _ in range(count)
        ]
        return {"kind": "form", "rows": rows}

    def _titled(self, children: list[Node]) -> Node:
        if self._rng.random() < 0.4:
            children = [{"kind": "heading", "name": self._label()}, *children]
        return {"kind": "column", "children": children, "tight": self._dense}

    def _checks(self) -> Node:
        return self._titled([self._leaf("check") for _ in range(self._rng.randint(1, 6))])

    def _radios(self) -> Node:
        names = [self._label() for _ in range(self._rng.randint(2, 5))]
        chosen = self._rng.randrange(len(names))
        across = self._rng.random() < 0.3
        return self._titled([self._leaf("radios", names=names, chosen=chosen, across=across)])

    def _switches(self) -> Node:
        rows = [
            {"kind": "row", "children": [{"kind": "label", "name": self._label(), "grow": True}]}
            for _ in range(self._rng.randint(1, 5))
        ]
        for row in rows:
            row["children"].append(self._leaf("switch"))  # type: ignore[attr-defined]
        return self._titled(rows)

    def _sliders(self) -> Node:
        rows: list[Node] = []
        for _ in range(self._rng.randint(1, 3)):
            rows.append({"kind": "label", "name": self._label()})
            rows.append(self._leaf("slider", value=self._rng.random()))
        return self._titled([*rows, self._leaf("progress", value=self._rng.random())])

    def _buttons(self) -> Node:
        buttons = [self._button() for _ in range(self._rng.randint(1, 4))]
        return {"kind": self._rng.choice(("row", "row", "column")), "children": buttons}

    def _icons(self) -> Node:
        return {"kind": "row", "children": [self._tool() for _ in range(self._rng.randint(2, 9))]}

    def _keypad(self) -> Node:
        keys = "789/456*123-0.=+"
        rows = [
            [{**self._leaf("button"), "name": key} for key in keys[n : n + 4]] for n in (0, 4, 8)
        ]
        return {"kind": "grid", "rows": rows}

    def _text(self) -> Node:
        children: list[Node] = [{"kind": "heading", "name": self._label()}]
        children += [{"kind": "label", "name": self._sentence()}]
        children += [self._leaf("link") for _ in range(self._rng.randint(0, 3))]
        return {"kind": "column", "children": children}

    def _pictures(self) -> Node:
        size = self._rng.choice((24, 32, 48, 64, 96))
        count = self._rng.randint(1, 4)
        pictures = [self._leaf("image", icon=self._icon(), size=size) for _ in range(count)]
        return {"kind": "row", "children": pictures}

    def _area(self) -> Node:
        lines = [self._sentence() for _ in range(self._rng.randint(1, 14))]
        return self._leaf("area", text="\n".join(lines), grow=True)

    def _list(self) -> Node:
        rows = [self._label() for _ in range(self._rng.randint(3, 20))]
        icons = [self._icon() for _ in rows] if self._rng.random() < 0.5 else []
        return self._leaf("list", rows=rows, icons=icons, chosen=self._chosen(len(rows)), grow=True)

    def _table(self) -> Node:
        columns = [self._label()[:16] for _ in range(self._rng.randint(2, 5))]
        rows = [[self._cell() for _ in columns] for _ in range(self._rng.randint(3, 30))]
        headed = self._rng.random() < 0.85
        view = self._leaf("table", columns=columns, rows=rows, headed=headed, grow=True)
        return view | {"chosen": self._chosen(len(rows))}

    def _tree(self) -> Node:
        rows = [
            [self._label(), [self._label() for _ in range(self._rng.randint(0, 4))]]
            for _ in range(self._rng.randint(3, 10))
        ]
        return self._leaf("tree", rows=rows, chosen=self._chosen(len(rows)), grow=True)

    def _cell(self) -> str:
        if self._rng.random() < 0.3:
            return f"{self._rng.uniform(0, 5000):,.2f}"
        return self._label()[:18]

    def _chosen(self, count: int) -> int:
        """Choose a row that is selected; -1: none."""
        return self._rng.randrange(count) if self._rng.random() < 0.6 else -1

    def _menus(self) -> list[Node]:
        menus: list[Node] = []
        for _ in range(self._rng.randint(3, 8)):
            items = [
                self._leaf(self._rng.choice(("item", "item", "item", "item", "check", "separator")))
                for _ in range(self._rng.randint(3, 12))
            ]
            menus.append({"name": self._label()[:12], "items": items})
        return menus
