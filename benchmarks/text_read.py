"""Names read off the screens of benchmarks/grounding, and the CPU time of it, by reader.

    python -m benchmarks.text_read [--screens 10] [--run runs/ID ...]

Only screens of the split "train" are read. A name counts as read if its words follow one another
in a line that overlaps the element. Not every name is drawn, and drawn ones may be covered, so the
number to compare with is that of the names that any reader read. ``--run`` reads the looks of
finished runs in order instead: PP-OCR reads only what changed since an earlier look.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from hisa.events import Observed
from hisa.grounder.base import TextReader
from hisa.plugins.eyes.pp_ocr import PpOcr
from hisa.plugins.reading.tesseract import Tesseract
from hisa.runs.run_reader import load_run
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Screenshot
from hisa.screen.ocr import MIN_CONFIDENCE, Line

SCREENS = Path(__file__).parent / "grounding" / "screens"
READERS: dict[str, Callable[[], TextReader]] = {"PP-OCR": PpOcr, "tesseract": Tesseract}
LOOK = Size(1280, 720)
LONGEST = 40
"""Characters of the longest name that counts: longer ones are cut off or wrapped."""


@dataclass(frozen=True)
class Screen:
    """A screen and the names on it that may be read, with the elements' boxes in its pixels."""

    picture: Screenshot
    names: tuple[tuple[str, BoundingBox], ...] = ()


@dataclass
class Result:
    """What a reader read: names by (screen, name), and CPU seconds of each look of 1280x720."""

    names: set[tuple[int, int]] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        if not ordered:
            return "no look of 1280x720"
        median, most = statistics.median(ordered), ordered[-1]
        return f"{median:.2f} median, {ordered[len(ordered) * 9 // 10]:.2f} 90%, {most:.2f} most"


def load_screens(limit: int | None = None) -> Iterator[Screen]:
    paths = [path for path in sorted(SCREENS.glob("*.json")) if _load(path)["split"] == "train"]
    for path in paths[:limit]:
        picture = Screenshot(Image.open(path.with_suffix(".png")))
        yield Screen(picture, tuple(_list_names(_load(path), picture.size)))


def load_looks(folder: Path) -> Iterator[Screen]:
    run = load_run(folder)
    for event in run.events:
        if isinstance(event, Observed) and (path := run.image(event.image)):
            yield Screen(Screenshot(Image.open(path)))


def _load(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text("utf-8")))


def _list_names(screen: dict[str, Any], size: Size) -> Iterator[tuple[str, BoundingBox]]:
    across, down = size.width / screen["screen"][0], size.height / screen["screen"][1]
    known = set()
    for element in screen["elements"]:
        name, (left, top, width, height) = element["name"], element["box"]
        right, bottom = (left + width) * across, (top + height) * down
        box = BoundingBox(left * across, top * down, right, bottom)
        inside = 0 <= box.left < right <= size.width and 0 <= box.top < bottom <= size.height
        short = len(name) <= LONGEST and any(letter.isalpha() for letter in name)
        if inside and short and "showing" in element["states"] and (name, box) not in known:
            known.add((name, box))
            yield name, box


def is_read(name: str, box: BoundingBox, lines: Sequence[Line]) -> bool:
    expected = f" {' '.join(name.split())} ".casefold()
    return any(
        expected in f" {' '.join(word.text for word in line.words)} ".casefold()
        for line in lines
        if line.box.intersection(box)
    )


def measure(screens: Sequence[Screen], make_reader: Callable[[], TextReader]) -> Result:
    result = Result()
    for number, screen in enumerate(screens):
        before = cpu_seconds()
        lines = make_reader().read_text(screen.picture, None, least=MIN_CONFIDENCE)
        if screen.picture.size == LOOK:
            result.seconds.append(cpu_seconds() - before)
        result.names |= {
            (number, index)
            for index, (name, box) in enumerate(screen.names)
            if is_read(name, box, lines)
        }
    return result


def cpu_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def print_screens(screens: Sequence[Screen], readers: Sequence[str]) -> None:
    results = {name: measure(screens, READERS[name]) for name in readers}
    names = sum(len(screen.names) for screen in screens)
    any_read = len(set().union(*(result.names for result in results.values())))
    print(f"{len(screens)} screens, {names} names of elements, {any_read} read by any reader")
    for name, result in results.items():
        share = f"{len(result.names)} ({len(result.names) / max(any_read, 1):.1%})"
        looks = len(result.seconds)
        print(
            f"{name:<10} read {share}; CPU s of {looks} screens of 1280x720, each alone: {result}"
        )


def print_run(looks: Sequence[Screen], run: str, reader_name: str) -> None:
    reader = READERS[reader_name]()
    result = measure(looks, lambda: reader)
    print(f"{run} {reader_name:<10} CPU s of {len(result.seconds)} looks: {result}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--screens", type=int, help="only the first so many")
    parser.add_argument("--run", type=Path, nargs="*", help="folders of runs")
    options = parser.parse_args()
    readers = [name for name, make_reader in READERS.items() if make_reader().available()]
    if not readers:
        print("no reader of text is installed")
        return 1
    for name in readers:  # loads nets and lists languages
        READERS[name]().read_text(Screenshot(Image.new("RGB", (64, 64))), None, least=0.0)
    if options.run:
        for run, name in itertools.product(options.run, readers):
            print_run(list(load_looks(run)), run.name, name)
    else:
        print_screens(list(load_screens(options.screens)), readers)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
