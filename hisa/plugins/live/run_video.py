"""Draws a run as a GIF: a title, each step before and after its act, a person's acts, the end."""

from __future__ import annotations

import struct
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from PIL import GifImagePlugin, Image, ImageChops, ImageDraw, ImageFont

from hisa.errors import UsageError
from hisa.events import Observed
from hisa.machine.storage import replace_file
from hisa.outcomes.verdicts import verdict_words
from hisa.runs import wording
from hisa.runs.run_reader import Run
from hisa.runs.step_records import StepRecord
from hisa.runs.terminal_view import head
from hisa.text.safe_text import safe_line

__all__ = ["write_video"]

_MAX_STEPS, _MAX_PIXELS, _MAX_BYTES = 500, 40_000_000, 200_000_000
_WIDTH, _LETTER, _SECONDS = 960, 17, 3.0  # of a frame and a letter, in pixels; of a step
_DAMAGED = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)
_BEFORE, _CARD = 0.6, 2.5  # share of a step's time; seconds
_COLOURS = {
    "good": "#6ddc9b", "bad": "#ff9a92", "warn": "#f5c26b", "calm": "#e5e9ee", "live": "#9ab4ff",
    "soft": "#98a3b0",
}  # fmt: skip
_GROUND, _CLICK, _CHANGED, _CHOSEN = "#0e1116", "#e5007a", "#ff9500", "#d70015"
Frames = Iterator[tuple[Image.Image, float]]  # RGB pictures of one size; their seconds
Words = Sequence[tuple[str, str, int]]  # texts, their tones, and the most lines they may take


def write_video(run: Run, say: Callable[[str], None], output: Path | None) -> Path:
    """Write a run as a GIF, and return its path.

    Args:
        run: the run.
        say: takes one line on what was left out.
        output: the file to write, a .gif; None for ``video.gif`` in the run's folder.

    Raises:
        UsageError: the file cannot be written, or its name does not end in .gif.
    """
    path = output or run.folder / "video.gif"
    if path.suffix != ".gif":
        raise UsageError(f"{str(path)!r}: a video is a .gif file", fix="-o FILE.gif")
    film = _Film(run)
    try:
        replace_file(path, _gif(film.frames()))
    except OSError as error:
        raise UsageError(f"{str(path)!r}: {error.strerror}", fix="change -o") from error
    missing, left = len(film.missing), len(run.steps[_MAX_STEPS:])
    say(f"left out: {missing} missing pictures, {left} steps")
    return path


def _gif(frames: Frames) -> Iterator[bytes]:
    """Yields the file piece by piece, so that at most two frames are in memory."""
    shown, size = None, 0
    for frame, seconds in frames:
        if shown is None:  # the header; NETSCAPE2.0 with 0 repeats without end
            yield b"GIF89a" + struct.pack("<HHBBB", *frame.size, 0, 0, 0)
            yield b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
        changed = ImageChops.difference(shown, frame).getbbox() if shown else (0, 0, *frame.size)
        box = changed or (0, 0, 1, 1)
        part = frame.crop(box).quantize(255, dither=Image.Dither.NONE)
        options = {"duration": round(seconds * 1000), "include_color_table": True}
        data = b"".join(GifImagePlugin.getdata(part, box[:2], **options))
        size += len(data)
        if size > _MAX_BYTES:
            raise OSError(0, f"a GIF of more than {_MAX_BYTES} bytes")
        yield data
        shown = frame
    yield b";"


class _Film:
    """Draws the frames of a run."""

    def __init__(self, run: Run) -> None:
        self.missing: set[str] = set()
        self._run = run
        look = next((event for event in run.events if isinstance(event, Observed)), None)
        aspect = look.width / look.height if look and look.height > 0 else 1.6
        self._line, self._font = round(1.4 * _LETTER), _font(_LETTER)
        self._below = round(_WIDTH / min(4.0, max(0.4, aspect)))
        self.size = _WIDTH, self._below + 7 * self._line

    def frames(self) -> Frames:
        """Yields the frames of the title, of each step and of the end."""
        task, *end = (line.plain for line in islice(head(self._run), 4))
        title = [(f"HiSA run {self._run.id}", "soft", 1), (task, "calm", 9)]
        yield self._frame(title), _CARD
        for record in self._run.steps[:_MAX_STEPS]:
            yield from self._step(record)
        tones = (wording.tone(self._run.status), "soft", "soft")
        card = [(line, tone, 4) for line, tone in zip(end, tones, strict=False)]
        yield self._frame(card), _CARD

    def _step(self, record: StepRecord) -> Frames:
        head = f"Step {record.number} of {len(self._run.steps)} · "
        person = [(line, "live", 2) for line in wording.by_person(record)[:30]]
        before = self._picture(record.before)
        for first in range(0, len(person), 3):
            yield self._frame(person[first : first + 3], before), _CARD
        if before is not None:
            thought = record.planned.thought if record.planned else ""
            words = [(head + record.tool, "soft", 1), (thought, "calm", 3)]
            frame = self._frame([*words, (record.source, "warn", 2)], _draw_marks(before, record))
            yield frame, _SECONDS * _BEFORE
        if record.acts and (after := self._picture(record.after)) is not None:
            verdict = verdict_words(record.verdict) if record.verdict else "not judged"
            words = [(f"{head}after: {verdict}", wording.verdict_tone(record.verdict), 1)]
            words += [(record.abstracted.result if record.abstracted else "", "calm", 5)]
            frame = self._frame(words, _draw_marks(after, record, after=True))
            yield frame, _SECONDS * (1 - _BEFORE)

    def _frame(self, words: Words, picture: Image.Image | None = None) -> Image.Image:
        """A frame with a picture above its caption, or with words alone."""
        frame = Image.new("RGB", self.size, _GROUND)
        top = self._below + self._line // 2 if picture else self.size[1] // 4
        if picture is not None:
            scale = min(self.size[0] / picture.width, self._below / picture.height)
            frame.paste(picture.resize([max(1, int(n * scale)) for n in picture.size]))
        pen, width = ImageDraw.Draw(frame), self.size[0] - 2 * _LETTER
        for text, tone, most in words:
            line = safe_line(text[:2000], 1000)
            columns = int(0.95 * width * len(line) / max(1.0, self._font.getlength(line)))
            for wrapped in textwrap.wrap(line, max(5, columns), max_lines=most, placeholder=" …"):
                pen.text((_LETTER, top), wrapped, _COLOURS[tone], self._font)
                top += self._line
        return frame

    def _picture(self, look: Observed | None) -> Image.Image | None:
        if look is None:
            return None
        path = self._run.image(look.image) or ""
        with suppress(*_DAMAGED), Image.open(path, "r", ["PNG"]) as file:
            if file.width * file.height <= _MAX_PIXELS:
                return file.convert("RGB")
        self.missing.add(look.image)
        return None


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    for name in ("NotoSansCJK-Regular.ttc", "DejaVuSans.ttf"):
        with suppress(OSError):
            return ImageFont.truetype(name, size)
    return ImageFont.load_default(size)


def _draw_marks(picture: Image.Image, record: StepRecord, *, after: bool = False) -> Image.Image:
    """The picture with the changed region, or the clicks and the chosen element.

    Coordinates are limited, as a log may hold any.
    """
    pen, unit = ImageDraw.Draw(picture), picture.width / 960
    boxes = [place.element.box for place in record.places if place.chosen and place.element]
    if after:
        boxes = [record.abstracted.roi] if record.abstracted and record.abstracted.roi else []
    for box in boxes[:50]:
        left, top, right, bottom = (max(-99, min(9999, edge)) for edge in box)
        edges, colour = (left, top, right, bottom), _CHANGED if after else _CHOSEN
        if left <= right and top <= bottom:
            pen.rectangle(edges, None, colour, round(2 * unit) or 1)
    for x, y in [point for act in record.acts for point in act.points][: 0 if after else 50]:
        at = max(-99, min(9999, x)), max(-99, min(9999, y))
        for size, colour, width in ((15, "white", 5), (14, _CLICK, 3), (2, _CLICK, 2)):
            pen.circle(at, size * unit, None, colour, round(width * unit) or 1)
    return picture
