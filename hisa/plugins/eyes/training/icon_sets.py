"""Fetches icon sets of npm and Debian and renders their icons; none of their files is shipped."""

from __future__ import annotations

import io
import re
import subprocess
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from hisa.plugins.eyes.training.npm_packages import fetch_package

__all__ = ["load_icons", "normalise_name", "render_icon"]

SIDE = 64
"""Pixels of a rendered icon: more than the largest that is trained on."""
_PLAIN = 12
"""Of 255, the deviation of an icon's colours below which it has but one."""
_STYLE = re.compile(
    r"( (outlined?|fill(ed)?|solid|duotone|twotone|sharp|round(ed)?|icon|symbolic|\d\d+))+$"
)
"""Dropped at the end of a name; "bold", "thin" and "line" are meanings too."""


def load_icons(use: str, folder: Path) -> dict[str, list[tuple[str, Path]]]:
    """Returns names and rendered icons by set for a use, fetched and rendered once into a folder.

    An icon in one colour is stored as how opaque it is (mode L), others with their colours.
    """
    kinds = tomllib.loads(Path(__file__).with_name("icon_sets.toml").read_text("utf-8"))
    icons = {}
    for title, facts in {**kinds["npm"], **kinds["debian"]}.items():
        if facts.get("use", "train") == use:
            files = sorted(_render_set(title, facts, folder).iterdir())
            icons[title] = [(file.name.split(".")[0], file) for file in files]
    return icons


def normalise_name(name: str) -> str:
    """Returns a name as small words without style and size: "TrashOutline24" is "trash"."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z])(?=\d)", " ", name)
    return _STYLE.sub("", " ".join(re.findall(r"[a-z0-9]+", parted.lower())))


def render_icon(file: Path) -> Image.Image | None:
    """Returns an icon as a square; None for a broken or an empty file."""
    try:
        data = file.read_bytes()
        if file.suffix == ".svg":
            import resvg_py

            data = bytes(resvg_py.svg_to_bytes(data.decode(), width=SIDE, skip_system_fonts=True))
        picture = Image.open(io.BytesIO(data)).convert("RGBA")
    except (ValueError, OSError):
        return None
    picture = ImageOps.pad(picture, (SIDE, SIDE), color=(0, 0, 0, 0))
    opacity = picture.getchannel("A")
    colours = np.asarray(picture)[np.asarray(opacity) > 128, :3]
    if not len(colours):
        return None
    return opacity if colours.std(axis=0).max() < _PLAIN else picture


def _render_set(title: str, facts: Mapping[str, str], folder: Path) -> Path:
    """The folder of a set's icons as "name.number.png"; "trash 2" is one of "trash" beside it."""
    drawings = folder / "drawings" / title.replace("/", " ")
    if not drawings.exists():
        unfinished = drawings.with_suffix(".unfinished")
        unfinished.mkdir(parents=True, exist_ok=True)
        root, pattern = _fetch(title, facts, folder), re.compile(facts["files"] + r"\.(svg|png)")
        named = {}
        for file in sorted(root.rglob("*.*")):
            match = pattern.fullmatch(file.relative_to(root).as_posix())
            # Links show what is drawn already; mirrored for "rtl", "undo" looks like "redo".
            if match and not file.is_symlink() and "-rtl" not in file.name:
                named[file] = normalise_name(match["name"])
        for number, (file, name) in enumerate(named.items()):
            if (drawing := render_icon(file)) is not None:
                base = re.sub(r" (alt|variant|\d)$", "", name)
                name = base if base in named.values() else name
                drawing.save(unfinished / f"{name}.{number}.png")
        unfinished.rename(drawings)
    return drawings


def _fetch(title: str, facts: Mapping[str, str], folder: Path) -> Path:
    """The unpacked package: of npm if it has a version, else of Debian."""
    if "version" in facts:
        return fetch_package(title, facts["version"], folder / "npm")
    root = folder / "debian" / title
    if not root.exists():
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            subprocess.run(["apt-get", "download", title], cwd=scratch, check=True)
            (package,), unpacked = Path(scratch).glob("*.deb"), Path(scratch) / "unpacked"
            subprocess.run(["dpkg", "-x", package, unpacked], check=True)
            for archive in unpacked.glob("usr/share/**/images_*_svg.zip"):
                zipfile.ZipFile(archive).extractall(archive.with_suffix(""))
            unpacked.rename(root)
    return root
