"""A grounding suite: descriptions, their targets and screens; and HiSA's own file format.

A folder holds ``screens/NAME.png``, ``screens/NAME.json`` and ``targets.jsonl``, or several files
``targets/*.jsonl``; `docs/grounder.md` says what is in them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import UsageError
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.text.validation import explain
from hisa.text.window_titles import plain_title

__all__ = ["KINDS", "GroundingSuite", "Region", "Screen", "Target", "own_suite", "size_of"]

KINDS = (
    "name", "role", "value", "neighbour", "position", "function", "icon", "row", "cell", "spin",
    "slider", "calendar", "state", "group", "absent",
)  # fmt: skip
"""What a description goes by; the last kind is for things that are not on the screen."""

_Box = tuple[float, float, Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]]
"""Left, top, width, height."""
_File = TypeVar("_File", bound=BaseModel)


@dataclass(frozen=True)
class Region:
    """Where a click is right, in screen space.

    Args:
        box: around the thing.
        inner: the only part of the box that reacts to a click; None: all of it.
        polygon: the corners (x, y) in order, if the thing is not a rectangle.
    """

    box: BoundingBox
    inner: BoundingBox | None = None
    polygon: tuple[tuple[float, float], ...] = ()

    def holds(self, point: Point) -> bool:
        """Whether a click at this point of the screen meets the thing."""
        if self.polygon:
            return _inside(point, self.polygon)
        return (self.inner or self.box).contains(point)


def _inside(point: Point, corners: tuple[tuple[float, float], ...]) -> bool:
    """Whether a ray to the right crosses the outline an odd number of times."""
    inside = False
    for (x1, y1), (x2, y2) in zip(corners, (*corners[1:], corners[0]), strict=True):
        crosses = (y1 > point.y) != (y2 > point.y)
        if crosses and point.x < x1 + (point.y - y1) * (x2 - x1) / (y2 - y1):
            inside = not inside
    return inside


@dataclass(frozen=True)
class Screen:
    """A saved screen; ``elements`` is None if only the picture is known."""

    name: str
    picture: Path
    app: str
    split: str
    """"train", "held", or empty if the suite is not split."""
    windows: tuple[Window, ...] = ()
    elements: tuple[Element, ...] | None = None
    complete: bool = True

    def look(self, limit: Size | None = None) -> Observation:
        """Returns the screen as an agent would see it.

        Args:
            limit: the largest picture, in pixels; None: as it was saved.

        Raises:
            UsageError: the picture cannot be read.
        """
        try:
            saved = Screenshot.from_png(self.picture.read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.picture}: no picture can be read: {error}") from error
        picture = saved if limit is None else saved.fit_to(limit)
        return Observation(picture, saved.size, self.windows, self.elements, complete=self.complete)


@dataclass(frozen=True)
class Target:
    """A description, and where the thing is; without ``region`` it is not on the screen."""

    id: str
    """File and line, or file and row: unique in its suite."""
    screen: Screen
    kind: str
    description: str
    region: Region | None
    domains: tuple[str, ...] = ()
    """Rows of the suite's published table that it counts in."""


@dataclass(frozen=True)
class GroundingSuite:
    """Targets, in the order of their files."""

    name: str
    targets: tuple[Target, ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _WindowFile(_Strict):
    id: str = ""
    title: str
    app: str
    box: tuple[float, float, float, float] | None = None
    active: bool = False


class _ElementFile(_Strict):
    role: str
    name: str
    box: tuple[float, float, float, float]
    states: list[str] = []
    app: str = ""
    window: str = ""
    text: str = ""
    label: str = ""
    description: str = ""


class _ScreenFile(_Strict):
    screen: tuple[int, int]
    split: Literal["train", "held"]
    app: str
    windows: list[_WindowFile]
    elements: list[_ElementFile]
    complete: bool = True
    about: str = ""
    cursor: tuple[float, float] | None = None


class _TargetLine(_Strict):
    screen: str
    kind: str
    description: str = Field(min_length=1)
    box: _Box | None
    point: _Box | None = None


def own_suite(folder: Path) -> GroundingSuite:
    """Reads a suite in HiSA's own format.

    Raises:
        UsageError: a file or a line is malformed; the message names it.
    """
    screens: dict[str, Screen] = {}
    targets: list[Target] = []
    known: dict[tuple[str, str], str] = {}
    for path in _target_files(folder):
        for where, number, text in _lines(path):
            line = _parse_model(_TargetLine, text, where)
            if line.screen not in screens:
                screens[line.screen] = _screen(folder, line.screen, where)
            screen = screens[line.screen]
            first = known.setdefault((line.screen, line.description), where)
            if first != where:
                raise UsageError(f"{where}: {line.description!r} is in {first} already")
            region = _region(line, screen, where)
            ident = f"{path.relative_to(folder)}:{number}"
            targets.append(Target(ident, screen, line.kind, line.description, region))
    if not targets:
        raise UsageError(f"{folder}: there are no targets")
    return GroundingSuite(folder.resolve().name, tuple(targets))


def _target_files(folder: Path) -> list[Path]:
    single = folder / "targets.jsonl"
    several = sorted((folder / "targets").glob("*.jsonl"))
    return [single, *several] if single.is_file() else several


def _lines(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yields the lines that are not blank, each with its place and number."""
    for number, text in enumerate(_text(path).split("\n"), 1):
        if text.strip():
            yield f"{path}:{number}", number, text


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _parse_model(model: type[_File], text: str, where: str) -> _File:
    try:
        return model.model_validate(_json(text, where))
    except ValidationError as error:
        raise UsageError(f"{where}: {explain(error, model)}") from error


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{where}: not JSON: {error}") from error


def _region(line: _TargetLine, screen: Screen, where: str) -> Region | None:
    if line.kind not in KINDS:
        raise UsageError(f"{where}: kind {line.kind!r}; known are {', '.join(KINDS)}")
    if (line.box is None) != (line.kind == "absent"):
        raise UsageError(f"{where}: a target needs a box, or the kind 'absent' and the box null")
    if line.box is None:
        return None
    box = _box(line.box)
    size = size_of(screen.picture, where)
    if box.left < 0 or box.top < 0 or box.right > size.width or box.bottom > size.height:
        raise UsageError(
            f"{where}: box {list(line.box)} is not within the screen, {size.width}x{size.height}"
        )
    inner = None if line.point is None else _box(line.point)
    if inner is not None and box.intersection(inner) != inner:
        raise UsageError(f"{where}: point {list(line.point or ())} is not within the box")
    return Region(box, inner)


def _box(numbers: tuple[float, float, float, float]) -> BoundingBox:
    left, top, width, height = numbers
    return BoundingBox(left, top, left + width, top + height, "screen")


def _screen(folder: Path, name: str, where: str) -> Screen:
    home = folder / "screens"
    path, picture = home / f"{name}.json", home / f"{name}.png"
    if Path(name).name != name or not (path.is_file() and picture.is_file()):
        raise UsageError(f"{where}: no screen {name!r}: it needs {path} and {picture.name}")
    file = _parse_model(_ScreenFile, _text(path), str(path))
    if size_of(picture, str(path)) != Size(*file.screen):
        raise UsageError(f"{path}: screen {list(file.screen)} is not the size of {picture.name}")
    windows = tuple(
        Window(
            w.id or str(n),
            plain_title(w.title),
            w.app,
            None if w.box is None else _box(w.box),
            w.active,
        )
        for n, w in enumerate(file.windows)
    )
    elements = tuple(
        Element(
            **{
                **dict(e),
                "box": _box(e.box),
                "states": frozenset(e.states),
                "window": plain_title(e.window),
            }
        )
        for e in file.elements
    )
    return Screen(name, picture, file.app, file.split, windows, elements, file.complete)


def size_of(picture: Path, where: str) -> Size:
    """Returns width and height of a picture, without decoding it.

    Raises:
        UsageError: it is not a picture; the message names ``where``, the line that refers to it.
    """
    try:
        with Image.open(picture) as image:
            return Size(*image.size)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UsageError(f"{where}: {picture.name} cannot be read: {error}") from error
