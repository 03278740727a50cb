"""Prompts and answer syntaxes of vision-language grounders: one class for each format."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hisa.errors import ConfigError, NotFound
from hisa.grounder.base import GroundingFormat
from hisa.grounder.trained_words import GELATO, GTA1_7B, Wording
from hisa.machine import plugins
from hisa.protocols import Message
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Screenshot
from hisa.text.prompts import render

__all__ = [
    "FORMATS",
    "NUMBER",
    "PAIR",
    "AnswerSyntax",
    "GTA1Format",
    "PixelFormat",
    "RelativeFormat",
    "open_format",
    "read_pair",
    "smart_resize",
]

PATCH = 28
"""Side, in pixels, of the square that Qwen2.5-VL models see as one token."""
QWEN_MIN_PIXELS = 3_136
QWEN_MAX_PIXELS = 12_845_056
"""Areas that Qwen2.5-VL's own processor allows; servers may be configured for less."""
GTA1_MAX_PIXELS = 8_847_360
"""Area of 4096x2160, GTA1's own limit."""
MAX_ASPECT = 200
NUMBER = r"([0-9]{1,5}(?:\.[0-9]{1,20})?)"
"""A number of a point, as a group of a pattern."""


@dataclass(frozen=True)
class AnswerSyntax:
    """One way to write a point.

    ``form`` is the form that the prompt asks for, ``max_tokens`` the longest useful answer, and
    ``label`` its name in errors. ``read`` returns x and y as they are written, or None for any
    text that is not exactly one point. Nothing of an answer is executed.
    """

    form: str
    max_tokens: int
    label: str
    read: Callable[[str], tuple[float, float] | None]


def read_pair(pattern: re.Pattern[str], text: str) -> tuple[float, float] | None:
    """Returns the first two groups as numbers if the whole text matches, else None."""
    match = pattern.fullmatch(text.strip())
    return (float(match[1]), float(match[2])) if match else None


_PAIR = re.compile(rf"\(\s*{NUMBER}\s*,\s*{NUMBER}\s*\)")
PAIR = AnswerSyntax("(x,y)", 32, "one pair (x,y)", partial(read_pair, _PAIR))
"""GTA1, Gelato, Qwen3-VL and most others."""


def smart_resize(size: Size, *, min_pixels: int, max_pixels: int) -> Size:
    """Returns the size to which Qwen2.5-VL servers resize a picture, in multiples of 28.

    The server does not resize a picture that has this size already, so that answers are in the
    pixels that were sent. Halves are rounded to even, as the servers do.

    Args:
        size: size of the picture in pixels.
        min_pixels: smallest area in pixels.
        max_pixels: largest area in pixels.

    Raises:
        ValueError: one side is more than 200 times the other.
    """
    longer, shorter = max(size.width, size.height), min(size.width, size.height)
    if shorter < 1 or longer / shorter > MAX_ASPECT:
        raise ValueError(
            f"a picture of {size.width}x{size.height}: sides may differ {MAX_ASPECT} times at most"
        )
    area = size.width * size.height
    width, height = round(size.width / PATCH) * PATCH, round(size.height / PATCH) * PATCH
    if width * height > max_pixels:
        return _scale_size(size, math.sqrt(area / max_pixels), math.floor)
    if width * height < min_pixels:
        return _scale_size(size, 1 / math.sqrt(min_pixels / area), math.ceil)
    return Size(width, height)


def _scale_size(size: Size, shrink: float, round_part: Callable[[float], int]) -> Size:
    width = round_part(size.width / shrink / PATCH) * PATCH
    height = round_part(size.height / shrink / PATCH) * PATCH
    return Size(max(PATCH, width), max(PATCH, height))


def _pad_size(size: Size) -> Size:
    return Size(-(-size.width // PATCH) * PATCH, -(-size.height // PATCH) * PATCH)


class PixelFormat:
    """The format of models that answer in pixels of the picture as their server resized it.

    Args:
        name: the format's name in the setting.
        syntax: how the model writes a point.
        min_pixels: smallest area to which the server resizes, as usually configured.
        max_pixels: largest area to which the server resizes, as usually configured.
        words: the wording that the family was trained with; None: the element locator's.
    """

    def __init__(
        self,
        name: str,
        syntax: AnswerSyntax = PAIR,
        *,
        min_pixels: int = QWEN_MIN_PIXELS,
        max_pixels: int = QWEN_MAX_PIXELS,
        words: Wording | None = None,
    ) -> None:
        self.name, self.max_tokens = name, syntax.max_tokens
        self._syntax, self._words = syntax, words
        self._least, self._most = min_pixels, max_pixels

    def prepare(self, screenshot: Screenshot, description: str) -> tuple[Size, tuple[Message, ...]]:
        """Returns the screenshot's size in a picture that the server does not resize, and messages.

        If there is room, the screenshot is padded on the right and below: every pixel stays as it
        was drawn, and resampling is saved. Otherwise it is resized to the size that the server
        would choose.

        Raises:
            NotFound: the picture is too long and thin for the model.
        """
        try:
            size = smart_resize(screenshot.size, min_pixels=self._least, max_pixels=self._most)
        except ValueError as error:
            raise NotFound(f"the grounder cannot look at {error}") from error
        padded = _pad_size(screenshot.size)
        shown, sent = size, screenshot
        if self._least <= padded.width * padded.height <= self._most:
            shown, size = screenshot.size, padded
            sent = screenshot if size == shown else screenshot.on_black(size)
        else:
            sent = screenshot.resize_to(size)
        words = self._words or Wording(
            render("element_locator", height=size.height, width=size.width, form=self._syntax.form)
        )
        return shown, words.messages(sent, description)

    def parse(self, text: str, shown: Size) -> Point:
        """Returns the point of an answer.

        Raises:
            NotFound: the answer is not exactly one point inside the screenshot.
        """
        x, y = _read_point(self._syntax, text)
        if not (x < shown.width and y < shown.height):
            raise NotFound(
                f"the answer ({x:g}, {y:g}) lies outside the screen of {shown.width}x{shown.height}"
            )
        return Point(x, y)


class GTA1Format(PixelFormat):
    """The format of GTA1-7B: ``(x,y)`` in pixels of the picture that it was sent."""

    def __init__(self) -> None:
        super().__init__("gta1", max_pixels=GTA1_MAX_PIXELS, words=GTA1_7B)


class RelativeFormat:
    """The format of models that answer in fractions of each side, whatever the picture's size.

    Args:
        name: the format's name in the setting.
        edge: the number that stands for the right and the lower edge, such as 1000.
        syntax: how the model writes a point.
        words: the wording that the family was trained with; None: the element locator's.
    """

    def __init__(
        self, name: str, edge: float, syntax: AnswerSyntax = PAIR, *, words: Wording | None = None
    ) -> None:
        self.name, self.max_tokens = name, syntax.max_tokens
        self._edge, self._syntax, self._words = edge, syntax, words

    def prepare(self, screenshot: Screenshot, description: str) -> tuple[Size, tuple[Message, ...]]:
        """Returns the picture's size, and the messages."""
        words = self._words or Wording(
            render("element_locator_relative", whole=f"{self._edge:g}", form=self._syntax.form)
        )
        return screenshot.size, words.messages(screenshot, description)

    def parse(self, text: str, shown: Size) -> Point:
        """Returns the point of an answer.

        Raises:
            NotFound: the answer is not exactly one point inside the picture.
        """
        x, y = (part / self._edge for part in _read_point(self._syntax, text))
        if not (x <= 1 and y <= 1):
            raise NotFound(f"the answer {text[:80]!r} is beyond {self._edge:g}, the picture's edge")
        return Point(min(x * shown.width, shown.width - 1), min(y * shown.height, shown.height - 1))


def _read_point(syntax: AnswerSyntax, text: str) -> tuple[float, float]:
    pair = syntax.read(text)
    if pair is None:
        raise NotFound(f"the answer {text[:80]!r} is not {syntax.label}")
    return pair


FORMATS: dict[str, Callable[[], GroundingFormat]] = {
    "gta1": GTA1Format,
    "gelato": lambda: RelativeFormat("gelato", 1000, words=GELATO),
    "pixels": lambda: PixelFormat("pixels"),
    "thousand": lambda: RelativeFormat("thousand", 1000),
    "unit": lambda: RelativeFormat("unit", 1),
}
"""Formats whose answer is a pair, by their name in settings; packages announce others."""
_BY_COORDINATES = {"pixels": "gta1", "thousand": "thousand", "unit": "unit"}


def open_format(name: str, coordinates: str = "", trained: str = "") -> GroundingFormat:
    """Returns the format with a name.

    Args:
        name: the name in the setting; "auto": the format that the model was trained with, else
            the one for ``coordinates``.
        coordinates: how the model writes points, by its profile; empty: not known.
        trained: the format that the model was trained with, by its profile.

    Raises:
        ConfigError: no format has this name.
        PluginFailed: the package that provides it fails.
    """
    if name == "auto":
        name = trained or _BY_COORDINATES.get(coordinates, "gta1")
    if name in FORMATS:
        return FORMATS[name]()
    plugin_format: GroundingFormat | None = plugins.make("grounders", name)
    if plugin_format is None:
        known = ", ".join(["auto", *sorted({*FORMATS, *plugins.announced_names("grounders")})])
        raise ConfigError(
            f"grounder.format = {name!r}: no such format; known are {known}",
            fix="--set grounder.format=gta1",
        )
    return plugin_format
