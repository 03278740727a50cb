"""One frame of a run's video: a screen with marks above a bar of words, or a card of words.

The words come from models and screens: they are cut, wrapped and made safe to show first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from hisa.text.safe_text import safe_line

__all__ = ["TONES", "Box", "Canvas", "Words"]

Box = tuple[float, float, float, float]
Words = tuple[str, str, int]
"""A text, its colour, and the most lines that it may take."""
TONES = {
    "good": "#6ddc9b", "bad": "#ff9a92", "warn": "#f5c26b", "calm": "#e5e9ee", "live": "#9ab4ff",
    "soft": "#98a3b0", "person": "#d685ec",
}  # fmt: skip
"""Colours of words on the dark ground, those of the report."""
_GROUND, _CLICK, _CHANGED, _CHOSEN = "#0e1116", "#e5007a", "#ff9500", "#2f5bd8"
_LONGEST = 1200  # characters of a text that is laid out at all
_FAMILIES = {False: ("DejaVuSans.ttf",), True: ("NotoSansCJK-Regular.ttc", "wqy-zenhei.ttc")}


@lru_cache(maxsize=16)
def _font(size: int, east: bool) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """A font of the system, for East Asian texts or others; else the one that Pillow brings."""
    for name in (*_FAMILIES[east], *_FAMILIES[False]):
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


class Canvas:
    """Draws frames of one even size in pixels.

    Args:
        width: of a frame.
        aspect: width by height of the screens that are shown.
        panes: screens side by side.
    """

    def __init__(self, width: int, aspect: float, panes: int = 1) -> None:
        self.size_of_words = max(10, min(22, width // 60))
        self._line = round(self.size_of_words * 1.4)
        self._pad = self.size_of_words
        self.pane = width // panes // 2 * 2
        self.screen_height = round(self.pane / min(4.0, max(0.4, aspect)))
        height = self.screen_height + 6 * self._line + self._pad
        self.size = (self.pane, height + height % 2)

    def screen(
        self,
        picture: Image.Image,
        words: Sequence[Words],
        *,
        clicks: Sequence[tuple[float, float]] = (),
        chosen: Sequence[Box] = (),
        changed: Box | None = None,
    ) -> Image.Image:
        """A screen with marks in its own pixels, and what is said of it."""
        frame = Image.new("RGB", self.size, _GROUND)
        scale = min(self.pane / picture.width, self.screen_height / picture.height)
        size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        corner = (self.pane - size[0]) // 2, (self.screen_height - size[1]) // 2
        frame.paste(picture.resize(size, Image.Resampling.LANCZOS), corner)
        pen = ImageDraw.Draw(frame)
        for box in chosen:
            self._box(pen, box, corner, scale, _CHOSEN)
        if changed is not None:
            self._box(pen, changed, corner, scale, _CHANGED)
        for number, (x, y) in enumerate(clicks, 1):
            at = corner[0] + x * scale, corner[1] + y * scale
            self._click(pen, at, str(number) if len(clicks) > 1 else "")
        self._words(pen, words, self.screen_height + self._pad // 2, 6)
        return frame

    def card(self, words: Sequence[Words]) -> Image.Image:
        """Words alone, on a dark ground."""
        frame = Image.new("RGB", self.size, _GROUND)
        room = self.size[1] // self._line - 2
        used = sum(len(self._wrapped(text, most)) for text, _, most in words)
        top = max(self._pad, (self.size[1] - min(used, room) * self._line) // 2)
        self._words(ImageDraw.Draw(frame), words, top, room)
        return frame

    def beside(self, frames: Sequence[Image.Image]) -> Image.Image:
        """Frames of this size, side by side."""
        whole = Image.new("RGB", (self.pane * len(frames), self.size[1]), _GROUND)
        for place, frame in enumerate(frames):
            whole.paste(frame, (place * self.pane, 0))
        return whole

    def _words(self, pen: ImageDraw.ImageDraw, words: Sequence[Words], top: int, room: int) -> None:
        for text, colour, most in words:
            for line in self._wrapped(text, min(most, room)):
                pen.text((self._pad, top), line, colour, _font(self.size_of_words, _east(line)))
                top, room = top + self._line, room - 1

    def _wrapped(self, text: str, most: int) -> list[str]:
        """The text in at most so many lines of this width, the last one cut."""
        rest = safe_line(text[: 2 * _LONGEST], _LONGEST)
        font = _font(self.size_of_words, _east(rest))
        width = self.pane - 2 * self._pad
        lines: list[str] = []
        while rest and len(lines) < most:
            end = len(rest)
            while end > 1 and font.getlength(rest[:end]) > width:
                end = min(end - 1, math.ceil(end * width / font.getlength(rest[:end])) + 1)
            space = rest.rfind(" ", 0, end + 1)
            if end < len(rest) and space > end // 2:
                end = space
            lines.append(rest[:end])
            rest = rest[end:].lstrip()
        if rest and lines:
            lines[-1] = lines[-1][:-2].rstrip() + "…"
        return lines

    def _box(
        self, pen: ImageDraw.ImageDraw, box: Box, corner: tuple[int, int], scale: float, colour: str
    ) -> None:
        left, top, right, bottom = (
            round(corner[side % 2] + max(-9999.0, min(99999.0, edge)) * scale)
            for side, edge in enumerate(box)
        )
        if left <= right and top <= bottom:
            pen.rectangle((left - 3, top - 3, right + 3, bottom + 3), outline="white")
            pen.rectangle((left - 2, top - 2, right + 2, bottom + 2), outline=colour, width=2)

    def _click(self, pen: ImageDraw.ImageDraw, at: tuple[float, float], number: str) -> None:
        if not all(math.isfinite(part) and 0 <= part <= max(self.size) for part in at):
            return
        x, y = at
        for radius, colour, width in ((15, "white", 5), (14, _CLICK, 3), (2, _CLICK, 2)):
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), None, colour, width)
        if number:
            pen.text((x + 16, y - 22), number, _CLICK, _font(16, False), stroke_width=2,
                     stroke_fill="white")  # fmt: skip


def _east(text: str) -> bool:
    return any("\u2e80" <= letter <= "\uffef" for letter in text)
