"""Composes a page at random from the components and layouts of a catalogue."""

from __future__ import annotations

import base64
import functools
import html
import re
import unicodedata
from random import Random
from typing import Any

import jinja2

from hisa.plugins.eyes.training.catalogue import Catalogue

__all__ = ["Composer"]


class Composer:
    """Makes one page; its public methods but ``compose_page`` are called by templates.

    Args:
        catalogue: what the page is composed of.
        name: the framework.
        seed: decides everything.
    """

    def __init__(self, catalogue: Catalogue, name: str, seed: str) -> None:
        self.seed, self.framework = seed, catalogue.frameworks[name]
        self._catalogue, self._random = catalogue, Random(f"{seed}-{name}")
        self._uid = 0
        languages = list(catalogue.texts)
        self._language = "en" if self.chance(0.45) else self.pick(*languages)
        self._labels, self._sentences = catalogue.texts[self._language]
        folders = list(catalogue.icon_folders.values())
        self._icon_files = self.pick(*folders) if folders else []
        self._icon_side = self.number(15, 26)
        dark = self.chance(0.3)
        shades = ("#16181d", "#23272e", "#dde1e6") if dark else ("#ffffff", "#f4f5f7", "#1d2229")
        self._context = {
            **{key: getattr(self, key) for key in _HELPERS},
            "ground": self.pick(shades[0], shades[1]),
            "panel": shades[0],
            "ink": shades[2],
            "edge": self.pick("#8a8f98", "#c3c8d0", "#555b66"),
            "side": self.number(12, 24),
        }

    def compose_page(self) -> str:
        """Returns the page's HTML."""
        framework = self.framework
        layout = self.pick(*(name for name in self._catalogue.layouts if name != "header"))
        content = self._render(self._catalogue.layouts[layout]) + self._overlay()
        style = self._render(self._catalogue.styles["base"])
        if framework.style:
            style += self._render(self._catalogue.styles[framework.style])
        right_to_left = unicodedata.bidirectional(self._labels[0][0]) in ("R", "AL")
        body = f"{self.pick('x-whole', 'x-whole', 'x-whole', '')} {self._choose(framework.body)}"
        direction = "rtl" if right_to_left else "ltr"
        return (
            f'<!doctype html><html lang="{self._language}" dir="{direction}"'
            f' {self._choose(framework.html)}><head><meta charset="utf-8">{self._links()}'
            f"<style>{style}{self._tweaks()}</style>{self._render(framework.head)}</head>"
            f'<body class="{body}">{content}</body></html>'
        )

    def pick(self, *choices: Any) -> Any:
        """Returns one of the choices."""
        return self._random.choice(choices)

    def chance(self, share: float) -> bool:
        """Returns True with this probability."""
        return self._random.random() < share

    def number(self, least: int, most: int) -> int:
        """Returns a whole number within the limits."""
        return self._random.randint(least, most)

    def between(self, least: int, most: int, divisor: int) -> float:
        """Returns a whole number from ``least`` to ``most``, divided by ``divisor``."""
        return self.number(least, most) / divisor

    def times(self, least: int, most: int) -> range:
        """Returns a range of random length."""
        return range(self.number(least, most))

    def colour(self, saturation: int, lightness: int) -> str:
        """Returns a CSS colour of random hue; percents of saturation and lightness."""
        return f"hsl({self.number(0, 359)},{saturation}%,{lightness}%)"

    def tint(self) -> str:
        """Returns a CSS colour that is nearly transparent."""
        hue, alpha = self.number(0, 359), self.between(8, 22, 100)
        return f"hsla({hue},{self.pick(0, 0, 60)}%,50%,{alpha})"

    def label(self) -> str:
        """Returns a short text of the page's language."""
        return html.escape(self.pick(*self._labels))

    def sentence(self) -> str:
        """Returns a sentence of the page's language."""
        return html.escape(self.pick(*self._sentences))

    def prose(self, sentences: int) -> str:
        """Returns up to twice as many sentences."""
        return " ".join(self.sentence() for _ in self.times(sentences, 2 * sentences))

    def value(self) -> str:
        """Returns what a table cell shows: a number, a date, an amount, an address or a label."""
        return str(
            self.pick(
                self.number(0, 9999),
                f"{self.number(2019, 2031)}-{self.number(1, 12):02d}-{self.number(1, 28):02d}",
                f"{self.pick('$', '€', '£')}{self.number(1, 9000)}.{self.number(0, 99):02d}",
                f"{self.number(0, 100)} %",
                f"{self._word()}@{self._word()}.org",
                self.label(),
                self.label(),
            )
        )

    def typed(self) -> str:
        """Returns the attributes of an input: its type, and a value or a placeholder or neither."""
        kind = self.pick("text", "text", "text", "email", "search", "password", "number", "tel")
        kind = "date" if self.chance(0.06) else kind
        text = self.pick(self.value(), self.label())
        content = f'value="{self.number(0, 999) if kind == "number" else text}"'
        if kind == "date" or self.chance(0.6):
            content = self.pick("", f'placeholder="{self.pick(self.label(), self.sentence())}"')
        return f'type="{kind}" {content}'

    def on(self) -> str:
        """Returns the attribute of a checked box, or nothing."""
        return " checked" if self.chance(0.4) else ""

    def off(self) -> str:
        """Returns the attribute of a disabled control, or nothing."""
        return " disabled" if self.chance(0.07) else ""

    def icon(self, side: int = 0) -> str:
        """Returns an icon as SVG of this many CSS pixels, or of the page's own size."""
        if not self._icon_files:
            return '<svg class="x-i" width="16" height="16"><path d="M2 2h12v12H2z"/></svg>'
        source = self.pick(*self._icon_files).read_text(encoding="utf-8")
        opening, rest = source[source.index("<svg") :].split(">", 1)
        opening = re.sub(r'\s(width|height|class)="[^"]*"', "", opening)
        fill = "" if "fill=" in opening else ' fill="currentColor"'
        rest = re.sub(r'(fill|stroke)="(black|#000|#000000)"', r'\1="currentColor"', rest)
        size = side or self._icon_side
        return f'{opening} class="x-i" width="{size}" height="{size}"{fill}>{rest}'

    def photo(self, width: int, height: int) -> str:
        """Returns an image: a landscape, noise or a gradient; the size is in CSS pixels."""
        ground, noise = self.colour(50, 70), self.pick("turbulence", "fractalNoise")
        frequency, seed = self.between(2, 60, 1000), self.number(0, 9999)
        hills = "".join(
            f'<path fill="{self.colour(35, 40)}" d="M0 {height} V{self._at(height)}'
            f" C{self._at(width)} {self._at(height)} {self._at(width)} {self._at(height)} {width}"
            f' {self._at(height)} V{height}Z"/>'
            for _ in self.times(0, 4)
        )
        drawing = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
            f'<linearGradient id="g" x2="{self.number(0, 1)}" y2="1"><stop stop-color="{ground}"/>'
            f'<stop offset="1" stop-color="{self.colour(50, 40)}"/></linearGradient><filter id="n">'
            f'<feTurbulence type="{noise}" baseFrequency="{frequency}" seed="{seed}"/></filter>'
            f'<rect width="100%" height="100%" fill="url(#g)"/>{hills}<rect width="100%"'
            f' height="100%" filter="url(#n)" opacity="{self.pick(0, 0.2, 0.6)}"/></svg>'
        )
        data = base64.b64encode(drawing.encode()).decode()
        size = f'width="{width}" height="{height}"'
        return f'<img {size} alt="{self.label()}" src="data:image/svg+xml;base64,{data}">'

    def k(self, part: str, default: str = "") -> str:
        """Returns the class attribute of a part, or nothing where it has no class."""
        names = self._choose(self.framework.classes.get(part, default))
        return f' class="{names}"' if names else ""

    def part(self, name: str, **values: Any) -> str:
        """Returns the markup of a part of this framework."""
        self._uid += 1
        values |= {"uid": f"u{self._uid}", "group": f"g{self._uid}", "level": self.number(2, 4)}
        values |= {"tab_tag": self.pick("button", "a", "div")}
        return self._render(self.framework.parts.get(name) or self._catalogue.parts[name], **values)

    def section(self, name: str) -> str:
        """Returns the markup of a section."""
        content = self._render(self._catalogue.sections[name])
        return f'<section class="x-section">{content}</section>'

    def sections(self, least: int, most: int) -> str:
        """Returns the markup of a random number of random sections, some under a heading."""
        names = list(self._catalogue.sections)
        return "".join(
            (self.part("heading") if self.chance(0.5) else "") + self.section(self.pick(*names))
            for _ in self.times(least, most)
        )

    def header(self) -> str:
        """Returns the markup of the bar at the top of a page."""
        return self._render(self._catalogue.layouts["header"])

    def _at(self, length: int) -> int:
        return self.number(0, length)

    def _word(self) -> str:
        return "".join(self._random.choices("abcdefghiklmnoprstuvw", k=self.number(3, 8)))

    def _choose(self, alternatives: str) -> str:
        return str(self.pick(*alternatives.split("|"))).strip()

    def _render(self, template: str, **values: Any) -> str:
        return _compile(template).render(self._context | values)

    def _overlay(self) -> str:
        """Returns an open menu or a dialog over the page, or nothing."""
        if self.chance(0.2):
            return f'<div class="x-float">{self.part("menu")}</div>'
        if self.chance(0.14):
            names = ("form", "list", "checks", "radios", "prose", "settings", "buttons")
            return self.part("dialog", content=self.section(self.pick(*names)))
        return ""

    def _tweaks(self) -> str:
        """Returns styles that vary any framework: fonts, sizes, hues and a dark theme."""
        rules = []
        if self.chance(0.5):
            family = self.pick(*self._catalogue.fonts["families"])
            rules.append(f"body, body * {{ font-family: '{family}', sans-serif !important }}")
        if self.chance(0.4):
            rules.append(f"html {{ font-size: {self.number(12, 19)}px }}")
        filters = [f"hue-rotate({self.number(0, 359)}deg)"] if self.chance(0.4) else []
        if "dark" not in self.framework.html + self.framework.name and self.chance(0.18):
            filters.append(f"invert({self.between(88, 96, 100)})")
            rules.append("html { background: white } img { filter: invert(1) }")
        if filters:
            rules.append(f"html {{ filter: {' '.join(filters)} }}")
        return "\n".join(rules)

    def _links(self) -> str:
        framework, root = self.framework, self._catalogue.folder
        fonts = [
            (font["package"], file)
            for font in self._catalogue.fonts["css"]
            for file in font["files"]
        ]
        extra = [tuple(style.split(":", 1)) for style in framework.extra]
        sheets = self._choose(" ".join(framework.css)).split("+") if framework.css else []
        own = [(framework.package, self._open_braces(sheet.strip())) for sheet in sheets]
        links = [
            f'<link rel="stylesheet" href="{(root / package / file).as_uri()}">'
            for package, file in (*fonts, *extra, *own)
            if self._catalogue.has_package(package)
        ]
        scripts = [
            f'<script type="module" src="{(root / framework.package / file).as_uri()}"></script>'
            for file in framework.scripts
        ]
        return "".join(links + scripts)

    def _open_braces(self, path: str) -> str:
        return re.sub(r"\{([^}]*)\}", lambda m: str(self.pick(*m[1].split(","))), path)


_HELPERS = (
    *("pick", "chance", "number", "between", "times", "colour", "tint", "label", "sentence"),
    *("prose", "value", "typed", "on", "off", "icon", "photo", "k", "part", "section"),
    *("sections", "header"),
)


@functools.cache
def _compile(template: str) -> jinja2.Template:
    return jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(template)
