"""Fetches what training pages are composed of: frameworks, icons, texts and fonts from npm."""

from __future__ import annotations

import functools
import html
import json
import re
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hisa.errors import UsageError

__all__ = ["Catalogue", "Framework"]

_DATA = Path(__file__).with_name("frameworks.toml")
_LICENCES = {"MIT", "ISC", "Apache-2.0", "OFL-1.1", "BSD-3-Clause"}
_LABEL, _SENTENCE = (2, 26), (30, 160)
"""Characters of a text that serves as a label, and as a sentence."""


@dataclass(frozen=True)
class Framework:
    """A framework: its style sheets, and the classes and markup of its components.

    Args:
        name: its name in ``frameworks.toml``.
        split: "train", or "kept" where nothing is trained on it.
        share: how often it is drawn, relative to the others.
        package: npm package and version; empty without one.
        css: alternatives of style sheets; "+" joins those of one, braces hold alternatives.
        extra: more style sheets, as ``package:file``.
        scripts: modules that the page loads.
        marks: host, part and role of what web components draw.
        html: alternatives of attributes of the root, divided by "|".
        body: alternatives of classes of the body.
        head: markup for the page's head.
        style: name of another template of styles.
        classes: of parts, alternatives divided by "|".
        parts: templates of parts.
    """

    name: str
    split: str
    share: int = 1
    package: str = ""
    css: Sequence[str] = ()
    extra: Sequence[str] = ()
    scripts: Sequence[str] = ()
    marks: Sequence[Sequence[str]] = ()
    html: str = ""
    body: str = ""
    head: str = ""
    style: str = ""
    classes: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)


class Catalogue:
    """The frameworks and what pages are composed of.

    Args:
        folder: where the npm packages are, or will be fetched to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        data = tomllib.loads(_DATA.read_text(encoding="utf-8"))
        self.parts: dict[str, str] = data["parts"]
        self.sections: dict[str, str] = data["sections"]
        self.layouts: dict[str, str] = data["layouts"]
        self.styles: dict[str, str] = data["style"]
        self.fonts: dict[str, Any] = data["fonts"]
        self._icons, self._texts = data["icons"]["sets"], data["texts"]["sets"]
        self.frameworks = {name: _read_framework(name, data) for name in data["frameworks"]}

    def fetch_packages(self, names: Sequence[str]) -> None:
        """Fetch the npm packages of the named frameworks, and of icons, texts and fonts.

        Raises:
            UsageError: npm cannot fetch a package, or its licence is none of ours.
        """
        chosen = [self.frameworks[name] for name in names]
        packages = [framework.package for framework in chosen if framework.package]
        packages += [style.split(":")[0] for framework in chosen for style in framework.extra]
        packages += [part["package"] for part in (*self._icons, *self._texts, *self.fonts["css"])]
        for package in dict.fromkeys(packages):
            _fetch_package(package, self.folder / package)

    def has_package(self, package: str) -> bool:
        """Returns whether the package was fetched."""
        return (self.folder / package / "package.json").exists()

    @functools.cached_property
    def icon_folders(self) -> dict[Path, list[Path]]:
        """The SVG files of the icon sets by folder: a folder has one style."""
        folders: dict[Path, list[Path]] = {}
        for icons in self._icons:
            for file in sorted((self.folder / icons["package"]).glob(icons["files"])):
                folders.setdefault(file.parent, []).append(file)
        return folders

    @functools.cached_property
    def texts(self) -> dict[str, tuple[list[str], list[str]]]:
        """Labels and sentences by language, for the languages that a font shows."""
        texts: dict[str, set[str]] = {"en": set()}
        for source in self._texts:
            for file in sorted((self.folder / source["package"]).glob(source["files"])):
                language = file.stem.split("-")[0].split("_")[0]
                if file.stem not in ("package", "composer") and _has_font(language):
                    content = json.loads(file.read_text(encoding="utf-8"))
                    texts.setdefault(language, set()).update(_strings(content))
        names = (file.stem for files in self.icon_folders.values() for file in files)
        texts["en"] |= {name.replace("-", " ").capitalize() for name in names}
        return {language: _divide(strings) for language, strings in sorted(texts.items())}


def _read_framework(name: str, data: dict[str, Any]) -> Framework:
    own = dict(data["frameworks"][name])
    base = dict(data["frameworks"].get(own.pop("like", ""), {}))
    inherited = {key: base.get(key, {}) | own.get(key, {}) for key in ("classes", "parts")}
    shared = {key: base[key] for key in ("html", "body", "marks") if key in base}
    own["extra"] = own.pop("with", ())
    return Framework(name=name, **(shared | own | inherited))


def _fetch_package(package: str, folder: Path) -> None:
    """Fetch and unpack an npm package, unless it is there."""
    if (folder / "package.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    order = ["npm", "pack", package, "--silent", "--pack-destination", str(folder)]
    try:
        subprocess.run(order, check=True, capture_output=True, timeout=600, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(
            f"npm cannot fetch {package}: {error}", fix="sudo apt-get install npm"
        ) from error
    for archive in folder.glob("*.tgz"):
        with tarfile.open(archive) as members:
            members.extractall(folder, members=_without_top(members), filter="data")
        archive.unlink()
    licence = json.loads((folder / "package.json").read_text(encoding="utf-8")).get("license")
    if licence not in _LICENCES:
        raise UsageError(f"{package}: its licence {licence!r} is none of {sorted(_LICENCES)}")


def _without_top(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yields the members of an archive without the folder that they are all in."""
    for member in archive:
        member.name = member.name.partition("/")[2]
        if member.name and (member.isfile() or member.isdir()):
            yield member


@functools.cache
def _has_font(language: str) -> bool:
    """Returns whether fontconfig has a font for a language's script."""
    order = ["fc-list", f":lang={language.lower()}", "family"]
    try:
        return bool(subprocess.run(order, capture_output=True, timeout=60).stdout.strip())
    except OSError:
        return language == "en"


def _strings(content: object) -> Iterator[str]:
    """Yields the texts in a JSON document, without markup and without those that have blanks."""
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        for part in content:
            yield from _strings(part)
    elif isinstance(content, str):
        text = " ".join(re.sub(r"<[^>]*>", " ", html.unescape(content)).split())
        if text and not re.search(r"[{}%_\\]", text) and any(map(str.isalpha, text)):
            yield text


def _divide(texts: set[str]) -> tuple[list[str], list[str]]:
    """Returns the labels and the sentences among texts, never none."""
    ordered = sorted(texts)
    labels = [text for text in ordered if _LABEL[0] <= len(text) <= _LABEL[1]] or ["Name"]
    sentences = [text for text in ordered if _SENTENCE[0] <= len(text) <= _SENTENCE[1]]
    return labels, sentences or [" ".join(labels[:5])]
