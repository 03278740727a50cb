"""Suites as their authors publish them: ScreenSpot, ScreenSpot-V2, ScreenSpot-Pro and OSWorld-G.

Each is one or several JSON lists and a folder of pictures, without windows or elements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.grounding.targets import (
    GroundingSuite,
    Region,
    Screen,
    Target,
    own_suite,
    size_of,
)
from hisa.screen.geometry import BoundingBox
from hisa.text.validation import explain

__all__ = ["open_grounding_suite"]

_LISTS = (
    "screenspot_*_v2.json", "screenspot_*.json", "annotations/*.json",
    "OSWorld-G.json", "benchmark/OSWorld-G.json",
)  # fmt: skip
"""The lists of a published folder; the first pattern that matches any file is taken."""
_PICTURES = ("screenspotv2_image", "screenspot_imgs", "images", ".")
"""Folders of pictures, beside the list or beside its folder."""

_LIST_OF_A_DOMAIN = re.compile(r"screenspot_(mobile|desktop|web)[_.]")


class _Row(BaseModel):
    instruction: str = Field(min_length=1)


class _ScreenSpotRow(_Row):
    img_filename: str
    bbox: tuple[float, float, float, float]
    """Left, top, width, height."""
    data_type: str
    data_source: str = ""


class _ProRow(_Row):
    img_filename: str
    bbox: tuple[float, float, float, float]
    """Left, top, right, bottom."""
    ui_type: str
    group: str = ""
    application: str = ""
    platform: str = ""


class _OSWorldRow(_Row):
    id: str = ""
    image_path: str
    box_type: Literal["bbox", "polygon", "refusal"]
    box_coordinates: list[float]
    """Left, top, width, height; or x and y of each corner in turn."""
    GUI_types: list[str] = []


@dataclass(frozen=True)
class _Read:
    """One row, whatever its suite."""

    picture: str
    kind: str
    app: str
    region: Region | None
    domain: str = ""
    ident: str = ""


def open_grounding_suite(path: Path) -> GroundingSuite:
    """Opens a folder as a suite, HiSA's own or a published one, or a single published list.

    Raises:
        UsageError: it is not a suite, or something in it is malformed.
    """
    if (path / "targets.jsonl").is_file() or (path / "targets").is_dir():
        return own_suite(path)
    list_files = [[path]] if path.is_file() else [sorted(path.glob(pattern)) for pattern in _LISTS]
    if files := next(filter(None, list_files), None):
        return _published_suite(files, path.resolve().name)
    raise UsageError(
        f"{str(path)!r} is not a grounding suite: it has neither targets.jsonl nor a list of "
        "ScreenSpot, ScreenSpot-Pro or OSWorld-G",
        fix="hisa bench grounding benchmarks/grounding",
    )


def _published_suite(files: Sequence[Path], name: str) -> GroundingSuite:
    """Returns the rows of these lists as a suite.

    Raises:
        UsageError: a list or a row is not as published, or its picture is missing; the message
            names it.
    """
    screens: dict[Path, Screen] = {}
    targets = [target for path in files for target in _targets(path, screens)]
    if not targets:
        raise UsageError(f"{files[0]}: there are no targets")
    return GroundingSuite(name, tuple(targets))


def _targets(path: Path, screens: dict[Path, Screen]) -> Iterator[Target]:
    home: Path | None = None
    capabilities = _capabilities(path.parent / "classification_result.json")
    for number, row in enumerate(_rows(path), 1):
        where = f"{path}, row {number}"
        read, instruction = _read(row, where)
        home = home or _pictures(path, read.picture, where)
        picture = (home / read.picture).resolve()
        if picture not in screens:
            screens[picture] = _screen(home, picture, read, where)
        ident = f"{path.name}, row {number}"
        domains = capabilities.get(read.ident) or ((read.domain,) if read.domain else ())
        if not domains and (name_match := _LIST_OF_A_DOMAIN.match(path.name)):
            domains = (name_match[1].capitalize(),)
        yield Target(ident, screens[picture], read.kind, instruction, read.region, domains)


def _capabilities(path: Path) -> dict[str, tuple[str, ...]]:
    """Returns OSWorld-G's capabilities by row id; a row may have several. Empty without a file.

    Raises:
        UsageError: the file is not as published.
    """
    if not path.is_file():
        return {}
    names_by_id: dict[str, tuple[str, ...]] = {}
    try:
        classified = json.loads(path.read_text(encoding="utf-8"))["classified"]
        for key, rows in classified.items():
            name = key.replace("fine_grained", "fine-grained").replace("_", " ").capitalize()
            for ident in {row["id"] for row in rows}:
                names_by_id[ident] = (*names_by_id.get(ident, ()), name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{path}: not as OSWorld-G publishes it: {error!r}"
        raise UsageError(message, fix=f"fetch the file again, or: mv {path} {path}.off") from error
    return names_by_id


def _rows(path: Path) -> list[Any]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    if not isinstance(rows, list):
        raise UsageError(f"{path}: expected a list of rows, not {type(rows).__name__}")
    return rows


def _read(row: Any, where: str) -> tuple[_Read, str]:
    """Returns the content of a row, and its instruction; the suite is known by a key of its own."""
    if isinstance(row, Mapping):
        for key, (model, reader) in _READERS.items():
            if key in row:
                try:
                    valid = model.model_validate(row)
                    return reader(valid), valid.instruction
                except ValidationError as error:
                    raise UsageError(f"{where}: {explain(error, model)}") from error
                except ValueError as error:
                    raise UsageError(f"{where}: {error}") from error
    raise UsageError(f"{where}: it has none of the keys {', '.join(_READERS)}")


def _screenspot(row: _ScreenSpotRow) -> _Read:
    left, top, width, height = row.bbox
    region = _region(left, top, left + width, top + height)
    return _Read(row.img_filename, row.data_type, row.data_source, region)


def _pro(row: _ProRow) -> _Read:
    app = f"{row.application} {row.platform}".strip()
    domain = "Development" if row.group == "Dev" else row.group
    return _Read(row.img_filename, row.ui_type, app, _region(*row.bbox), domain)


def _osworld(row: _OSWorldRow) -> _Read:
    numbers = row.box_coordinates
    if row.box_type == "refusal":
        return _Read(row.image_path, "absent", "", None, "Refusal", row.id)
    if row.box_type == "bbox":
        if len(numbers) != 4:
            raise ValueError(f"box_coordinates: expected 4 numbers, not {len(numbers)}")
        left, top, width, height = numbers
        region = _region(left, top, left + width, top + height)
    else:
        if len(numbers) < 6 or len(numbers) % 2:
            raise ValueError(f"box_coordinates: {len(numbers)} numbers are no polygon")
        xs, ys = numbers[0::2], numbers[1::2]
        outline = tuple(zip(xs, ys, strict=True))
        region = _region(min(xs), min(ys), max(xs), max(ys), outline)
    kind = row.GUI_types[0] if row.GUI_types else "-"
    return _Read(row.image_path, kind, "", region, ident=row.id)


def _region(
    left: float,
    top: float,
    right: float,
    bottom: float,
    outline: tuple[tuple[float, float], ...] = (),
) -> Region:
    return Region(BoundingBox(left, top, right, bottom, "screen"), polygon=outline)


_READERS: dict[str, tuple[type[_Row], Callable[[Any], _Read]]] = {
    "box_type": (_OSWorldRow, _osworld),
    "ui_type": (_ProRow, _pro),
    "data_type": (_ScreenSpotRow, _screenspot),
}


def _pictures(path: Path, name: str, where: str) -> Path:
    """Returns the folder that has the picture of that name."""
    for folder in (path.parent, path.parent.parent):
        for picture_folder in _PICTURES:
            if (folder / picture_folder / name).is_file():
                return folder / picture_folder
    raise UsageError(
        f"{where}: picture {name!r} is not in {', '.join(_PICTURES[:-1])} beside the list",
        fix=f"unpack the suite's pictures into {path.parent / 'images'}",
    )


def _screen(home: Path, picture: Path, read: _Read, where: str) -> Screen:
    if not picture.is_relative_to(home.resolve()) or not picture.is_file():
        raise UsageError(f"{where}: there is no picture {read.picture!r} in {home}")
    size_of(picture, where)
    return Screen(read.picture, picture, read.app, "")
