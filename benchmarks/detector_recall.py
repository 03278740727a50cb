"""How much of what is on screens the detector sees, by role, and what it costs.

    python -m benchmarks.detector_recall DIR... [--split kept] [--weights FILE]

DIR has screens in the format of the detector's training (`hisa.plugins.eyes.training`). A thing is
covered if its centre lies in a box, of its role or of any; "fits" are things that a box overlaps by
half. "By chance" are the boxes of a screen half the list away, at their places.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hisa.plugins.eyes.detector import ROLES, WEIGHTS, Control, Detector, overlap_boxes
from hisa.plugins.eyes.training.detector_data import Screen, read_screens
from hisa.screen.observation import Screenshot

COLUMNS = ("centre, role", "centre, any", "fits", "by chance")


def find_hits(screen: Screen, controls: Sequence[Control]) -> NDArray[np.bool_]:
    """Returns for the things of a screen [n, 3] which of three kinds of boxes there are.

    The first holds the thing's centre and has its role, the second holds its centre, the third
    overlaps it by half; the last two may be of any role.
    """
    edges = [(c.box.left, c.box.top, c.box.right, c.box.bottom) for c in controls]
    drawn = np.array(edges, np.float64).reshape(-1, 4)
    roles = np.array([ROLES.index(control.role) for control in controls], np.int64)
    rows = []
    for box, role in zip(screen.boxes, screen.roles, strict=True):
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        left, top, right, bottom = drawn.T
        holds = (left <= x) & (x < right) & (top <= y) & (y < bottom)
        fits = overlap_boxes(box, drawn) >= 0.5
        rows.append([(holds & (roles == role)).any(), holds.any(), fits.any()])
    return np.array(rows, np.bool_).reshape(-1, 3)


def count_hits(screens: list[Screen], looks: list[tuple[Control, ...]]) -> NDArray[np.int64]:
    """Returns things and covered things, a row a role; columns as in `COLUMNS`."""
    counts = np.zeros((len(ROLES), 1 + len(COLUMNS)), np.int64)
    for at, (screen, controls) in enumerate(zip(screens, looks, strict=True)):
        hits = find_hits(screen, controls)
        by_chance = find_hits(screen, looks[at - len(looks) // 2])[:, 1:2]
        things = np.ones((len(hits), 1), np.bool_)
        np.add.at(counts, screen.roles, np.concatenate([things, hits, by_chance], axis=1))
    return counts


def table(counts: NDArray[np.int64]) -> Iterator[str]:
    yield f"| {'role':10} | things | " + " | ".join(COLUMNS) + " |"
    yield "|" + "---|" * (2 + len(COLUMNS))
    for role, row in [*zip(ROLES, counts, strict=True), ("all", counts.sum(0))]:
        if row[0]:
            shares = " | ".join(f"{hits} ({hits / row[0]:.1%})" for hits in row[1:])
            yield f"| {role:10} | {row[0]} | {shares} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--split", choices=("train", "kept"), default="kept")
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    screens = read_screens(options.folders, options.split)
    detector = Detector(options.weights)
    looks, seconds = list[tuple[Control, ...]](), list[float]()
    for screen in screens:
        with Image.open(screen.path) as picture:
            screenshot = Screenshot(picture.convert("RGB"))
        started = time.process_time()
        looks.append(detector.detect(screenshot))
        seconds.append(time.process_time() - started)
    print("\n".join(table(count_hits(screens, looks))))
    boxes = np.array([len(controls) for controls in looks])
    sources = sorted({screen.source for screen in screens})
    print(f"\n{len(screens)} screens of {', '.join(sources)}")
    print(f"boxes a screen: mean {boxes.mean():.1f}, largest {boxes.max()}")
    print(f"CPU s a screen: median {np.median(seconds):.3f}, largest {max(seconds):.3f}")


if __name__ == "__main__":
    main()
