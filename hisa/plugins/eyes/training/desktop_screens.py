"""Makes training screens of desktop toolkits: random windows whose widgets are known.

    python -m hisa.plugins.eyes.training.desktop_screens --into DIR --count N --kept M --seed S

A run that was cut off goes on where it ended. Galleries of GTK 3, GTK 4, Qt 5 and Tk show
composed windows on a virtual display and report their widgets themselves. GTK 4, the GTK themes
Materia and Orchis and Qt's style Oxygen appear in screens of the split "kept" alone.
"""

from __future__ import annotations

import argparse
import json
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hisa.plugins.eyes.training.galleries import stages
from hisa.plugins.eyes.training.galleries.composed_windows import compose_window, read_vocabulary
from hisa.plugins.eyes.training.galleries.layers import Layer, list_visible, paint_owners
from hisa.plugins.eyes.training.galleries.stages import Look, Stage
from hisa.plugins.eyes.training.galleries.x_display import XDisplay

__all__ = ["Gallery", "main", "make_screens"]

_SHOTS = 6
"""Screens of one stage: starting its display and galleries costs as much as about three."""
_ANSWER_SECONDS = 60
_REST = 0.25
"""Seconds in which a window is moved or a menu opened; twice what 50 tries took."""
_OPENED = ("combo box", "menu item")
"""Roles that open something when they are clicked."""
_SYSTEM_PYTHON = "/usr/bin/python3"
_FOLDER = Path(__file__).parent / "galleries"


class Gallery:
    """A process that shows composed windows with one toolkit.

    Args:
        look: the toolkit, its theme, font and icons.
        display: where it shows them.
        language: of the texts, as "de".
    """

    def __init__(self, look: Look, display: XDisplay, language: str) -> None:
        self.look = look
        self.words = read_vocabulary(language, stages.list_icons(look.icons))
        self._process = subprocess.Popen(
            [_SYSTEM_PYTHON, str(_FOLDER / look.script), *look.arguments],
            env={**display.environment, **look.variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, command: dict[str, Any]) -> list[dict[str, Any]]:
        """Send a command and return the records of the windows that are shown then.

        Raises:
            RuntimeError: the process ended, or did not answer.
        """
        writing, reading = self._process.stdin, self._process.stdout
        assert writing is not None
        assert reading is not None
        try:
            writing.write(json.dumps(command) + "\n")
            writing.flush()
            ready, _, _ = select.select([reading], [], [], _ANSWER_SECONDS)
            line = reading.readline() if ready else ""
        except OSError as error:
            raise RuntimeError(f"{self.look.source} ended: {error}") from error
        if not line:
            raise RuntimeError(f"{self.look.source} ended")
        return list(json.loads(line))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


@dataclass
class _Studio:
    """A display with its galleries, and how windows are composed for it."""

    display: XDisplay
    galleries: list[Gallery]
    scale: int

    def shoot(self, seed: int) -> tuple[Image.Image, list[dict[str, Any]]]:
        """Show random windows; return the picture and the records of what can be seen."""
        rng = random.Random(seed)
        display = self.display
        display.point(display.width - 2, display.height - 2)
        for gallery in rng.sample(self.galleries, len(self.galleries)):
            size = (display.width // self.scale, (display.height - 40) // self.scale)
            count = rng.choice((1, 1, 1, 2, 2, 3))
            nodes = [
                compose_window(rng.randrange(1 << 30), gallery.words, *size) for _ in range(count)
            ]
            self._spread(gallery.ask({"do": "show", "windows": nodes}), rng)
        time.sleep(_REST)
        layers = self._layers()
        pixels = np.asarray(display.take_picture())
        if rng.random() < 0.5 and self._touch(list_visible(layers, pixels), rng):
            time.sleep(_REST)
            layers = self._layers()
            pixels = np.asarray(display.take_picture())
        rows = list_visible(layers, pixels)
        display.press_escape()
        owners = paint_owners(layers, display.width, display.height)
        backdrop = stages.draw_backdrop(rng, display.width, display.height)
        return Image.fromarray(np.where(owners[..., None] == 0, backdrop, pixels)), rows

    def _spread(self, records: list[dict[str, Any]], rng: random.Random) -> None:
        """Move windows to random places, for the most part inside the screen."""
        boxes = dict(self.display.list_windows())
        for record in records:
            frame = self.display.frame_of(record["xid"])
            left, top, right, bottom = boxes.get(frame, (0, 0, 0, 0))
            across = max(0, self.display.width - (right - left))
            down = max(0, self.display.height - (bottom - top))
            self.display.move_window(record["xid"], rng.randint(0, across), rng.randint(0, down))

    def _touch(self, rows: list[dict[str, Any]], rng: random.Random) -> bool:
        """Click something that opens, or move the pointer over a control."""
        opened = [r for r in rows if r["role"] in _OPENED and "disabled" not in r["states"]]
        pool = opened if opened and rng.random() < 0.7 else rows
        if not pool:
            return False
        left, top, right, bottom = rng.choice(pool)["box"]
        place = ((left + right) // 2, (top + bottom) // 2)
        (self.display.click if pool is opened else self.display.point)(*place)
        return True

    def _layers(self) -> list[Layer]:
        """Return the windows on the screen, with the widgets that the galleries report."""
        windows = [Layer(box) for _, box in self.display.list_windows()]
        numbers = {xid: number for number, (xid, _) in enumerate(self.display.list_windows())}
        for gallery in self.galleries:
            for record in gallery.ask({"do": "report"}):
                frame = self.display.frame_of(record["xid"])
                if frame in numbers:
                    self._fill(windows[numbers[frame]], frame, record)
        return windows

    def _fill(self, layer: Layer, frame: int, record: dict[str, Any]) -> None:
        across, down = self.display.origin_of(record["xid"])
        scale = record["scale"]
        if record.get("shape"):
            left, top, right, bottom = (round(edge * scale) for edge in record["shape"])
            layer.box = (across + left, down + top, across + right, down + bottom)
        if record["dialog"]:
            row = {"role": "dialog", "box": layer.box, "states": [], "name": record["name"]}
            layer.rows.append(row)
        for button in self.display.list_title_buttons(frame, record["xid"]):
            layer.rows.append({"role": "icon", "box": button, "states": [], "name": ""})
        for row in record["boxes"]:
            left, top, right, bottom = (edge * scale for edge in row["box"])
            box = (across + left, down + top, across + right, down + bottom)
            layer.rows.append({**row, "box": box})


def make_screens(folder: Path, split: str, count: int, seed: int) -> Iterator[str]:
    """Make screens until there are ``count`` of a split; yields the file name of each.

    Args:
        folder: where screens.jsonl and the pictures are.
        split: "train" or "kept".
        count: the number of screens of this split, those of earlier runs included.
        seed: the same seed composes the same windows on the same machine.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "screens.jsonl"
    lines = index.read_text("utf-8").splitlines() if index.exists() else []
    ready = {json.loads(line)["file"] for line in lines}
    for first in range(0, count, _SHOTS):
        numbers = list(range(first, min(count, first + _SHOTS)))
        names = {n: f"{split}-{seed}-{n:05}.webp" for n in numbers}
        missing = [n for n in numbers if names[n] not in ready]
        if not missing:
            continue
        stage = stages.plan_stage(f"{seed}-{split}-{first}", split)
        try:
            for number, picture, rows in _shoot_all(stage, missing, seed):
                picture.save(folder / names[number], "WEBP", quality=92, method=2)
                _record(index, names[number], picture, stage, split, rows)
                yield names[number]
        except RuntimeError as error:
            print(f"{stage.source}: {error}", file=sys.stderr)  # noqa: T201


def _shoot_all(
    stage: Stage, numbers: list[int], seed: int
) -> Iterator[tuple[int, Image.Image, list[dict[str, Any]]]]:
    """Set up a stage and shoot the screens of these numbers."""
    from Xlib.error import XError

    size = (stage.width, stage.height)
    manager = (stage.manager, stage.manager_theme)
    with XDisplay(*size, *manager, composite=stage.composite) as display:
        galleries = [Gallery(look, display, stage.language) for look in stage.looks]
        try:
            studio = _Studio(display, galleries, stage.scale)
            for number in numbers:
                try:
                    yield number, *studio.shoot(hash((seed, number)))
                except XError as error:  # a window went while it was looked at
                    print(f"{stage.source}: {error}", file=sys.stderr)  # noqa: T201
        finally:
            for gallery in galleries:
                gallery.close()


def _record(
    index: Path,
    file: str,
    picture: Image.Image,
    stage: Stage,
    split: str,
    rows: list[dict[str, Any]],
) -> None:
    record: dict[str, Any] = {"file": file, "source": stage.source, "split": split}
    record |= {"width": picture.width, "height": picture.height, "boxes": rows}
    with index.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record, ensure_ascii=False) + "\n")


def main() -> int:
    """Make the screens that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="folder of the screens")
    parser.add_argument("--count", type=int, default=800, help='screens of the split "train"')
    parser.add_argument("--kept", type=int, default=0, help='screens of the split "kept"')
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that displays are closed
    if command := stages.install_command():
        parser.error(f"packages are missing; {command}")
    for split, count in (("kept", options.kept), ("train", options.count)):
        started = time.perf_counter()
        names = make_screens(options.into, split, count, options.seed)
        for number, name in enumerate(names, 1):
            pace = (time.perf_counter() - started) / number
            print(f"{name} of {count}, {pace:.1f} s a screen", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
