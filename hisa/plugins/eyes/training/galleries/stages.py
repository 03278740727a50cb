"""Chooses how a screen looks: its size, toolkits, themes, fonts, icons, language, backdrop."""

from __future__ import annotations

import functools
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from hisa.plugins.eyes.training.galleries.composed_windows import languages_with_texts

__all__ = [
    "PACKAGES",
    "Look",
    "Stage",
    "draw_backdrop",
    "install_command",
    "list_icons",
    "plan_stage",
]

PACKAGES = (
    *("adwaita-qt", "arc-theme", "blackbird-gtk-theme", "bluebird-gtk-theme"),
    *("breeze-gtk-theme", "breeze-icon-theme", "elementary-xfce-icon-theme", "fonts-cantarell"),
    *("dbus", "fonts-dejavu-core", "fonts-droid-fallback", "fonts-inter", "fonts-lato"),
    *("fonts-liberation", "fonts-open-sans", "fonts-roboto-unhinted", "gir1.2-gtk-3.0"),
    *("gir1.2-gtk-4.0", "gnome-icon-theme", "gnome-themes-extra", "greybird-gtk-theme"),
    *("icewm", "kde-style-breeze", "kde-style-oxygen-qt5", "librsvg2-common"),
    *("mate-icon-theme", "materia-gtk-theme", "numix-gtk-theme", "numix-icon-theme", "openbox"),
    *("orchis-gtk-theme", "oxygen-icon-theme", "papirus-icon-theme", "python3-gi"),
    *("python3-pil.imagetk", "python3-pyqt5", "python3-pyqt5.qtsvg", "python3-tk"),
    *("python3-ttkthemes", "qt5-style-kvantum", "qt5-style-kvantum-themes"),
    *("qt5-style-plugins", "tango-icon-theme", "xcompmgr", "xfwm4", "xvfb", "yaru-theme-gtk"),
)
"""Debian's packages of the toolkits, themes and fonts."""

_SIZES = (
    *((800, 600), (1024, 768), (1280, 720), (1280, 800), (1366, 768), (1440, 900)),
    *((1280, 1024), (1600, 900), (1920, 1080)),
)
_LARGE = 1600
"""Pixels of width from which a screen may have two pixels for a logical one."""
_FONTS = (
    *("DejaVu Sans", "Liberation Sans", "Cantarell", "Inter", "Roboto", "Open Sans", "Lato"),
    *("DejaVu Serif", "Liberation Serif", "DejaVu Sans Condensed"),
)
_ICON_THEMES = {
    False: ("Adwaita", "Papirus", "breeze", "elementary-xfce", "Tango", "gnome", "mate", "oxygen"),
    True: ("Adwaita", "Papirus-Dark", "breeze-dark", "elementary-xfce-dark", "Tango", "gnome"),
}
"""By whether the theme is dark."""
_THEMES = Path("/usr/share/themes")
_ICONS = Path("/usr/share/icons")
_ICEWM_THEMES = Path("/usr/share/icewm/themes")
_KVANTUM_THEMES = Path("/usr/share/Kvantum")
_QT_STYLES = (
    *("fusion", "fusion", "windows", "breeze", "adwaita", "adwaita-dark", "plastique"),
    *("cleanlooks", "kvantum", "kvantum", "kvantum"),
)
_TK_THEMES = ("clam", "alt", "default", "classic", "ttkthemes", "ttkthemes", "ttkthemes")
_HELD_OUT_FAMILIES = ("Materia", "Orchis")
_HELD_OUT_STYLE = "oxygen"


@dataclass(frozen=True)
class Look:
    """How one gallery looks.

    Args:
        source: the toolkit and theme, as "gtk3:Adwaita-dark".
        script: the gallery's file.
        arguments: of the script.
        variables: of its environment.
        icons: the icon theme.
    """

    source: str
    script: str
    arguments: tuple[str, ...]
    icons: str
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """A display with its window manager and galleries."""

    width: int
    height: int
    scale: int
    manager: str
    manager_theme: str
    composite: bool
    language: str
    looks: tuple[Look, ...]

    @property
    def source(self) -> str:
        """The toolkits and themes that are shown."""
        return "+".join(look.source for look in self.looks)


def install_command() -> str:
    """Return the command that installs the missing packages; empty: all are there."""
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *PACKAGES]
    listed = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in listed.splitlines() if line.endswith(" installed")}
    missing = [package for package in PACKAGES if package not in installed]
    if not missing:
        return ""
    return f"sudo apt-get install --no-install-recommends {' '.join(missing)}"


def plan_stage(seed: str, split: str) -> Stage:
    """Choose a stage whose toolkits and themes belong to a split.

    Args:
        seed: the same seed plans the same stage.
        split: "train" or "kept".
    """
    rng = random.Random(seed)
    width, height = rng.choice(_SIZES)
    scale = 2 if width >= _LARGE and rng.random() < 0.4 else 1
    manager = rng.choice(("openbox", "xfwm4", "xfwm4", "icewm"))
    language = "en" if rng.random() < 0.6 else rng.choice(_legible_languages())
    count = rng.choice((1, 1, 2))
    chosen = tuple(_choose_look(rng, split, scale) for _ in range(count))
    theme = rng.choice(_manager_themes(manager))
    composite = rng.random() < 0.5 or any(look.source.startswith("gtk4") for look in chosen)
    return Stage(width, height, scale, manager, theme, composite, language, chosen)


def _choose_look(rng: random.Random, split: str, scale: int) -> Look:
    toolkit = rng.choice(("gtk4", "gtk4", "gtk3", "qt") if split == "kept" else _TOOLKITS)
    return {"gtk3": _gtk, "gtk4": _gtk, "qt": _qt, "tk": _tk}[toolkit](rng, toolkit, split, scale)


_TOOLKITS = ("gtk3", "gtk3", "gtk3", "qt", "qt", "qt", "tk", "tk")


def _font(rng: random.Random) -> tuple[str, int]:
    return rng.choice(_FONTS), rng.choice((8, 9, 10, 10, 11, 11, 12, 13, 15))


def _gtk(rng: random.Random, toolkit: str, split: str, scale: int) -> Look:
    families: dict[str, list[str]] = {"Adwaita": ["Adwaita", "Adwaita:dark", "HighContrast"]}
    for path in sorted(_THEMES.glob("*/gtk-3.0/gtk.css")):
        theme = path.parts[-3]
        families.setdefault(theme.partition("-")[0], []).append(theme)
    families = {
        name: families[name]
        for name in families
        if (name in _HELD_OUT_FAMILIES) == (split == "kept")
    }
    if toolkit == "gtk4":  # other themes end GTK 4.8's renderer without a graphics card
        families = {"Default": ["Default", "Default", "Default:dark", "Default:dark", "Default-hc"]}
    theme = rng.choice(families[rng.choice(sorted(families))])
    family, size = _font(rng)
    icons = rng.choice(_ICON_THEMES["dark" in theme.lower()])
    variables = {"GTK_THEME": theme, "GDK_SCALE": str(scale)}
    arguments = (toolkit[-1], f"{family} {size}", icons)
    return Look(f"{toolkit}:{theme}", "gtk.py", arguments, icons, variables)


def _qt(rng: random.Random, toolkit: str, split: str, scale: int) -> Look:
    style = _HELD_OUT_STYLE if split == "kept" else rng.choice(_QT_STYLES)
    theme = ""
    if style == "kvantum":
        theme = rng.choice(sorted(path.name for path in _KVANTUM_THEMES.iterdir()))
    dark = "dark" in (style + theme).lower() or (style == "fusion" and rng.random() < 0.5)
    palette = rng.choice(("", "", "tinted"))
    if dark:
        palette = "dark" if style == "fusion" else ""
    family, size = _font(rng)
    icons = rng.choice(_ICON_THEMES[dark])
    arguments = (style, theme, palette, family, str(size), icons)
    variables = {"QT_SCALE_FACTOR": str(scale), "QT_QPA_PLATFORM": "xcb"}
    source = ":".join(part for part in ("qt", style, theme, palette) if part)
    return Look(source, "qt.py", arguments, icons, variables)


def _tk(rng: random.Random, toolkit: str, split: str, scale: int) -> Look:
    theme = rng.choice(_TK_THEMES)
    family, size = _font(rng)
    icons = rng.choice(("Tango", "gnome", "mate", "Adwaita", "elementary-xfce"))
    arguments = (theme, str(rng.randrange(1 << 16)), family, str(size * scale), icons, str(scale))
    return Look(f"tk:{theme}", "tk.py", arguments, icons)


def _manager_themes(manager: str) -> list[str]:
    """Return the themes of a window manager; frames of all of them are in both splits."""
    if manager == "icewm":
        return sorted(path.parent.name for path in _ICEWM_THEMES.glob("*/default.theme"))
    folder = "openbox-3" if manager == "openbox" else "xfwm4"
    return sorted(path.parent.name for path in _THEMES.glob(f"*/{folder}"))


@functools.cache
def _legible_languages() -> list[str]:
    """Return the languages with texts for which a font is installed."""
    legible = []
    for language in languages_with_texts():
        code = language.split("@")[0].replace("_", "-").lower()
        query = ["fc-list", f":lang={code}", "family"]
        if subprocess.run(query, capture_output=True, check=False).stdout.strip():
            legible.append(language)
    return legible or ["en"]


@functools.cache
def list_icons(theme: str) -> list[str]:
    """Return the names of the icons of a theme that stand for actions, places and the like."""
    groups = {"actions", "places", "devices", "status", "mimetypes", "apps", "categories"}
    names = {
        path.stem
        for path in (_ICONS / theme).rglob("*")
        if path.suffix in (".png", ".svg") and not groups.isdisjoint(path.parts)
    }
    return sorted(names)


def draw_backdrop(rng: random.Random, width: int, height: int) -> npt.NDArray[np.uint8]:
    """Draw what lies behind the windows: one colour, or a gradient with soft spots.

    Args:
        rng: chooses colours and shapes.
        width: in pixels.
        height: in pixels.
    """
    first, second = (np.array([rng.randrange(256) for _ in range(3)]) for _ in range(2))
    down, across = np.mgrid[0:1:90j, 0:1:160j]
    blend: Any = np.zeros(down.shape)
    if rng.random() < 0.7:
        blend = (down * rng.random() + across * rng.random()) / 2
        for _ in range(rng.randrange(6)):
            x, y, size = rng.random(), rng.random(), rng.uniform(0.1, 0.5)
            blend = blend + np.exp(-((across - x) ** 2 + (down - y) ** 2) / size**2)
    blend = np.clip(blend, 0, 1)[..., None]
    small = Image.fromarray((first * (1 - blend) + second * blend).astype(np.uint8))
    return np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))
