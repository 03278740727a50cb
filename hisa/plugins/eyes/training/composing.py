"""Composes pages at random from the component frameworks and layouts of ``frameworks.toml``."""

from __future__ import annotations

import functools
import html
import re
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any
from unicodedata import bidirectional

import jinja2

from hisa.plugins.eyes.training.npm_packages import fetch_package

__all__ = ["Catalogue", "Composer"]

_PACKAGE = re.compile(r"((?:@[\w.-]+/)?[\w.-]+)@(\d[\w.-]*)")
_LABEL = re.compile(r'[\[:,]\s*"([^\W\d_][^"\\{}%_<>\n]{1,25})"(?!\s*:)')
"""A short text in a JSON document that has no blanks to fill in, and is no key."""
_DEFAULTS = {"split": "train", "share": 1, "sheets": "", "html": "", "body": "", "style": ""}


class Catalogue:
    """What pages are composed of: the named frameworks, or all, with npm packages in a folder."""

    def __init__(self, folder: Path, names: Sequence[str] = ()) -> None:
        self.folder = folder.absolute()
        self.data = tomllib.loads(Path(__file__).with_name("frameworks.toml").read_text("utf-8"))
        self.frameworks = {name: self._read(name) for name in names or self.data["frameworks"]}

    def fetch_packages(self) -> None:
        """Fetch the npm packages of the frameworks, and of icons, texts and fonts."""
        sources = [framework["sheets"] for framework in self.frameworks.values()]
        sources += [self.data[kind] for kind in ("icons", "texts", "fonts")]
        for name, version in dict.fromkeys(_PACKAGE.findall(" ".join(sources))):
            fetch_package(name, version, self.folder)

    @functools.cached_property
    def icon_sets(self) -> list[list[Path]]:
        """The SVG files of the icon sets; those of a set have the same style."""
        return [sorted(self.folder.glob(files)) for files in self.data["icons"].split()]

    @functools.cached_property
    def labels(self) -> dict[str, list[str]]:
        """Short texts by language, for the languages that a font shows."""
        names = (file.stem.replace("-", " ") for icons in self.icon_sets for file in icons)
        texts = {"en": {"Name", *map(str.capitalize, names)}}
        patterns = self.data["texts"].split()
        for file in (file for pattern in patterns for file in self.folder.glob(pattern)):
            language = re.split("[-_]", file.stem)[0]
            if len(language) < 4 and _has_font(language):
                content = html.unescape(file.read_text("utf-8"))
                texts.setdefault(language, set()).update(_LABEL.findall(content))
        return {language: sorted(texts[language]) for language in sorted(texts)}

    def _read(self, name: str) -> dict[str, Any]:
        own = dict(self.data["frameworks"][name])
        base = self.data["frameworks"].get(own.pop("like", None), {})
        rows = [*self.data["classes"], *base.get("classes", ()), *own.get("classes", ())]
        parts = self.data["parts"] | base.get("parts", {}) | own.get("parts", {})
        inherited = {"parts": parts, "classes": dict(row.split(": ", 1) for row in rows)}
        return {**_DEFAULTS, **base, **own, **inherited, "name": name}


class Composer:
    """Makes a page of a framework of a split, or of any if it has none; the seed decides all."""

    def __init__(self, catalogue: Catalogue, split: str, seed: str) -> None:
        self.seed, self._data, self._count, self._random = seed, catalogue.data, 0, Random(seed)
        frameworks = list(catalogue.frameworks.values())
        eligible = [kind for kind in frameworks if kind["split"] == split] or frameworks
        self.framework = self._random.choices(eligible, [kind["share"] for kind in eligible])[0]
        pick, number = self._pick, self._random.randint
        language = pick("en", pick(*catalogue.labels))
        labels = [html.escape(label) for label in catalogue.labels[language]]
        icons = pick(*catalogue.icon_sets)
        self._context = {
            "pick": pick,
            "number": number,
            "times": lambda least, most: range(number(least, most)),
            "chance": lambda share: self._random.random() < share,
            "choose": lambda alternatives: pick(*alternatives.split("|")).strip(),
            "label": lambda: pick(*labels),
            "sentence": lambda: " ".join(self._random.choices(labels, k=number(3, 9))),
            "drawing": lambda: pick(*icons).read_text("utf-8") if icons else "<svg></svg>",
            "sheet": lambda files: pick(*sorted(map(str, catalogue.folder.glob(files))) or [""]),
            "part": self.part,
            "section": self.section,
            "group": "",
            "icon_side": number(15, 26),
            "framework": self.framework,
            "fonts": self._data["fonts"].split(),
            "language": language,
            "direction": "rtl" if bidirectional(labels[-1][0]) in ("R", "AL") else "ltr",
        }

    def compose_page(self) -> str:
        """Returns the page's HTML."""
        layout = self.part(self._pick(*self._data["layouts"]))
        return self.part("page", content=layout, style=self._render(self.framework["style"]))

    def part(self, name: str, /, **values: Any) -> str:
        """Returns the markup of a part, whose template gets further values."""
        self._count += 1
        return self._render(self.framework["parts"][name], uid=f"u{self._count}", **values)

    def section(self, *names: str) -> str:
        """Returns the markup of one of the named sections, or of any."""
        self._context["group"] = f"g{self._count}"
        name = self._pick(*names or self._data["sections"])
        return self.part("section", content=self.part(name))

    def _pick(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _render(self, template: str, **values: Any) -> str:
        return _compile(self._data["macros"] + template).render(self._context | values)


@functools.cache
def _compile(template: str) -> jinja2.Template:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(template)


@functools.cache
def _has_font(language: str) -> bool:
    """Returns whether fontconfig has a font for a language's script."""
    order = ["fc-list", f":lang={language.lower()}", "family"]
    return bool(subprocess.run(order, capture_output=True, check=True).stdout.strip())
