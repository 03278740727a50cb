"""A run as a video: a card, each step before and after its act, what a person did, the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path

from PIL import Image

from hisa.errors import UsageError
from hisa.events import Observed
from hisa.outcomes.verdicts import verdict_words
from hisa.plugins.live.canvas import TONES, Box, Canvas, Words
from hisa.plugins.live.video_file import find_encoder, write_gif, write_webm
from hisa.runs import wording
from hisa.runs.read import Run
from hisa.runs.step_records import StepRecord

__all__ = ["MAX_STEPS", "write_video"]

MAX_STEPS = 500
_MAX_PIXELS = 40_000_000  # of a picture; larger ones are left out
_BEFORE = 0.6  # share of a step's time
_CARD = 2.5  # seconds
_GIF_TOLD = (
    "a GIF, since there is no ffmpeg here; for a WebM: apt install ffmpeg, or pip install "
    "imageio-ffmpeg"
)
Frames = Iterator[tuple[Image.Image, float]]


def write_video(
    runs: Sequence[Run],
    path: Path | None,
    *,
    seconds: float,
    width: int,
    progress: Callable[[str], None],
) -> Path:
    """Write one run, or several side by side, as a video of ``width`` pixels; returns its path.

    Args:
        runs: what is shown, from left to right.
        path: ends in .webm or .gif; None: in the first run's folder.
        seconds: of each step.
        width: of a frame, in pixels.
        progress: gets a line now and then.

    Raises:
        UsageError: the file cannot be written, or is of another kind, or ffmpeg failed.
    """
    encoder = find_encoder()
    if path is None:
        path = runs[0].folder / ("video.gif" if encoder is None else "video.webm")
        if encoder is None:
            progress(_GIF_TOLD)
    if path.suffix not in (".webm", ".gif") or (path.suffix == ".webm" and encoder is None):
        lacks = "nothing here encodes WebM" if path.suffix == ".webm" else "give .webm or .gif"
        raise UsageError(
            f"cannot write {str(path)!r}: {lacks}",
            fix="apt install ffmpeg, or -o FILE.gif",
        )
    film = _Film(runs, seconds, width, progress)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".gif" or encoder is None:
            write_gif(path, film.frames())
        else:
            write_webm(path, film.frames(), film.size, encoder)
    except OSError as error:
        raise UsageError(
            f"cannot write {str(path)!r}: {error.strerror}", fix="choose another file with -o"
        ) from error
    progress(film.told())
    return path


class _Film:
    """The frames of runs, drawn one after the other; counts those that it had to leave out."""

    def __init__(
        self, runs: Sequence[Run], seconds: float, width: int, progress: Callable[[str], None]
    ) -> None:
        self._panes: list[_Pane] = []
        looks = [event for run in runs for event in run.events if isinstance(event, Observed)]
        aspect = max((look.width / look.height for look in looks[:1] if look.height > 0), default=1.6)
        self._canvas = Canvas(width, aspect, len(runs))
        self._panes = [_Pane(run, self._canvas, seconds) for run in runs]
        self._progress = progress
        self.size = self._canvas.size[0] * len(runs), self._canvas.size[1]
        self._shown = 0

    def frames(self) -> Frames:
        """Yields pictures and their seconds; a run that waits for the others keeps its last."""
        held: list[tuple[Image.Image, float]] = [(Image.new("RGB", (2, 2)), 0.0)] * len(self._panes)
        for number, parts in enumerate(zip_longest(*(pane.parts() for pane in self._panes))):
            for frames in zip_longest(*(part or iter(()) for part in parts)):
                held = [new or old for new, old in zip(frames, held, strict=True)]
                self._shown += 1
                lasts = max(frame[1] for frame in frames if frame is not None)
                yield self._canvas.beside([picture for picture, _ in held]), lasts
            if number and number % 20 == 0:
                self._progress(f"step {number} of {max(len(p.run.steps) for p in self._panes)}")

    def told(self) -> str:
        """What was written, on one line."""
        missing = sum(pane.missing for pane in self._panes)
        left = sum(max(0, len(pane.run.steps) - MAX_STEPS) for pane in self._panes)
        said = f"{self._shown} frames of {self.size[0]} x {self.size[1]} pixels"
        said += f"; {missing} pictures are missing and were left out" if missing else ""
        return said + (f"; the last {left} steps were left out" if left else "")


class _Pane:
    """One run's part of the frames."""

    def __init__(self, run: Run, canvas: Canvas, seconds: float) -> None:
        self.run = run
        self.missing = 0
        self._canvas = canvas
        self._seconds = seconds
        self._last: tuple[str, Image.Image | None] = ("", None)

    def parts(self) -> Iterator[Frames]:
        """Yields the frames of the title, of each step and of the end."""
        yield iter([(self._canvas.card(self._title()), _CARD)])
        for record in self.run.steps[:MAX_STEPS]:
            yield self._step(record)
        yield self._end()

    def _title(self) -> list[Words]:
        manifest = self.run.manifest
        models = ", ".join(f"{role} {name}" for role, name in islice(manifest.models.items(), 6))
        return [
            (f"HiSA run {self.run.id}", TONES["soft"], 1),
            (manifest.task.instruction, TONES["calm"], 8),
            (f"{manifest.environment or 'no environment'} · {models or 'no model'}", TONES["soft"], 3),
        ]

    def _end(self) -> Frames:
        run, totals = self.run, self.run.totals
        scored = f", {wording.score(run.score_state, run.score)}" if run.ended else ""
        spent = f"{totals.steps} steps · {wording.duration(totals.seconds)} · "
        spent += f"{wording.count(totals.tokens)} tokens · {wording.total_money(totals.roles)}"
        card = self._canvas.card([
            (f"{run.status}{scored}", TONES[wording.tone(run.status)], 1),
            (run.message, TONES["calm"], 6),
            (run.scoring.detail, TONES["soft"], 3),
            (spent, TONES["soft"], 1),
        ])  # fmt: skip
        yield card, _CARD + 0.5

    def _step(self, record: StepRecord) -> Frames:
        head = f"Step {record.number} of {len(self.run.steps)}"
        before = self._picture(record.before)
        if before is not None:
            yield self._before(record, before, head), self._seconds * _BEFORE
        after = self._picture(record.after)
        if after is not None and record.acts:
            yield self._after(record, after, head), self._seconds * (1 - _BEFORE)

    def _before(self, record: StepRecord, picture: Image.Image, head: str) -> Image.Image:
        thought = record.planned.thought if record.planned else ""
        words: list[Words] = [
            (f"{head} · {record.tool or 'no call'}", TONES["soft"], 1),
            (thought, TONES["calm"], 3),
            (record.source, TONES["warn"], 2),
        ]
        elements = [place.element for place in record.places if place.chosen and place.element]
        chosen: list[Box] = [element.box for element in elements]
        clicks = [point for act in record.acts for point in act.points]
        return self._canvas.screen(picture, words, clicks=clicks[:50], chosen=chosen[:50])

    def _after(self, record: StepRecord, picture: Image.Image, head: str) -> Image.Image:
        verdict = verdict_words(record.verdict) if record.verdict else "not judged"
        told = record.abstracted
        errors = " ".join(act.error for act in record.acts if act.error)
        words: list[Words] = [
            (f"{head} · after: {verdict}", TONES[wording.verdict_tone(record.verdict)], 1),
            (told.result if told else "", TONES["calm"], 3),
            (errors, TONES["bad"], 2),
        ]
        return self._canvas.screen(picture, words, changed=told.roi if told else None)

    def _picture(self, look: Observed | None) -> Image.Image | None:
        """The picture of a look; one that is missing or damaged is counted."""
        if look is None:
            return None
        if look.image != self._last[0]:
            self._last = (look.image, self._read(look.image))
            self.missing += self._last[1] is None
        return self._last[1]

    def _read(self, name: str) -> Image.Image | None:
        path = self.run.image(name)
        try:
            if path is None:
                return None
            with Image.open(path, formats=("PNG",)) as file:
                return file.convert("RGB") if file.width * file.height <= _MAX_PIXELS else None
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            return None
