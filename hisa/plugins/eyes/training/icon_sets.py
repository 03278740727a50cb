"""Fetches icon sets with names from npm and renders their icons; none of their files is shipped."""

from __future__ import annotations

import io
import json
import re
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

__all__ = ["Icon", "IconSet", "list_sets", "load_icons", "load_tags", "normalise_name"]

SIDE = 64
"""Pixels of either side of a rendered icon: more than the largest that is trained on, 48, so that
an icon is only made smaller."""
_FAINT = 128
"""Of 255: a set's empty frames and ghosts are lighter than this everywhere."""
_LICENCES = {"MIT", "ISC", "Apache-2.0", "OFL-1.1", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0"}
_STYLE = re.compile(
    r" (outlined?|fill|filled|solid|duotone|twotone|sharp|round|rounded|icon|\d\d+)$"
)
"""Dropped at the end of a name; "bold", "thin" and "line" are meanings too."""
_VARIANT = re.compile(r" (alt|variant|\d)$")


@dataclass(frozen=True)
class IconSet:
    """A package of SVG files; ``files`` is a pattern with the group ``name``."""

    title: str
    version: str
    files: str
    use: str = "train"


@dataclass(frozen=True)
class Icon:
    """A rendered icon: ``ink`` is how dark its pixels are, SIDE by SIDE, 0 to 255."""

    set_title: str
    name: str
    ink: npt.NDArray[np.uint8]


def list_sets(use: str) -> list[IconSet]:
    """Returns the sets for a use: "train", "calibrate" or "held out"."""
    text = Path(__file__).with_name("icon_sets.toml").read_text("utf-8")
    sets = [IconSet(title, **facts) for title, facts in tomllib.loads(text).items()]
    return [icon_set for icon_set in sets if icon_set.use == use]


def normalise_name(name: str) -> str:
    """Returns a name as small words without style and size: "TrashOutline24" is "trash"."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z])(?=\d)", " ", name)
    words = " ".join(re.findall(r"[a-z0-9]+", parted.lower()))
    while (shorter := _STYLE.sub("", words)) != words:
        words = shorter
    return words


def drop_variants(names: set[str]) -> dict[str, str]:
    """Returns the name of a set's icon by its longer name: "trash 2" is "trash" if both exist."""
    return {name: base if (base := _VARIANT.sub("", name)) in names else name for name in names}


def load_icons(icon_set: IconSet, folder: Path) -> list[Icon]:
    """Returns the rendered icons of a set, fetched and rendered once into a folder."""
    cache = _fetch(icon_set, folder).with_suffix(".npz")
    if not cache.exists():
        files, drawings = zip(*_render_set(icon_set, folder), strict=True)
        np.savez_compressed(cache, names=np.array(files), inks=np.stack(drawings))
    with np.load(cache) as stored:
        names = [normalise_name(name) for name in stored["names"].tolist()]
        inks = stored["inks"]
    base = drop_variants(set(names))
    rows = zip(names, inks, strict=True)
    return [Icon(icon_set.title, base[name], ink) for name, ink in rows if ink.max() > _FAINT]


def load_tags(icon_set: IconSet, folder: Path) -> dict[str, set[str]]:
    """Returns further words for a set's icons, by name; empty where the set has none."""
    words: dict[str, set[str]] = {}
    for _, text in _read_members(_fetch(icon_set, folder), r"(tags|icons|meta)\.json"):
        table = json.loads(text)
        rows = table.items() if isinstance(table, dict) else ((row["name"], row) for row in table)
        for name, row in rows:
            tags = row.get("aliases", row.get("tags", ())) if isinstance(row, dict) else row
            tags = [normalise_name(str(tag)) for tag in tags] if isinstance(tags, list) else []
            words.setdefault(normalise_name(name), set()).update(filter(None, tags))
    return words


def _fetch(icon_set: IconSet, folder: Path) -> Path:
    """The set's archive.

    Raises:
        ValueError: its licence is not one of those that allow this use.
    """
    folder.mkdir(parents=True, exist_ok=True)
    package = f"{icon_set.title}@{icon_set.version}"
    archive = folder / f"{icon_set.title.strip('@').replace('/', '-')}-{icon_set.version}.tgz"
    if not archive.exists():
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), package]
        subprocess.run(command, check=True, capture_output=True)
    ((_, text),) = _read_members(archive, r"package\.json")
    licence = str(json.loads(text).get("license"))
    if " AND " in licence or not _LICENCES & set(re.split(r" OR |[()]", licence)):
        raise ValueError(f"the licence of {package} is {licence!r}")
    return archive


def _read_members(archive: Path, pattern: str) -> Iterator[tuple[re.Match[str], str]]:
    with tarfile.open(archive) as packed:
        for member in packed:
            match = re.fullmatch(pattern, member.name.removeprefix("package/"))
            stream = packed.extractfile(member) if match else None
            if match and stream is not None:
                yield match, stream.read().decode()


def _render_set(icon_set: IconSet, folder: Path) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    for match, svg in _read_members(_fetch(icon_set, folder), icon_set.files + r"\.svg"):
        if (ink := _render_svg(svg)) is not None:
            yield match["name"], ink


def _render_svg(svg: str) -> npt.NDArray[np.uint8] | None:
    """Returns how dark an icon's pixels are; None for a broken file."""
    import resvg_py

    try:
        png = resvg_py.svg_to_bytes(
            svg_string=svg, width=SIDE, height=SIDE, background="white", skip_system_fonts=True
        )
    except ValueError:
        return None
    grey = Image.open(io.BytesIO(bytes(png))).convert("L")
    return np.asarray(ImageOps.pad(ImageOps.invert(grey), (SIDE, SIDE)))
