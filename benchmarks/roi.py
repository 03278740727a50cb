"""What a step calls for its region of interest, against a plain NumPy box, as ratios in one run.

Both get two decoded pictures (`PIL.Image`, RGB), since pictures are what the state manager holds.
HiSA's `roi_pair` gives the changed box, its regions without pointer and caret, and both crops;
NumPy gives the box of the changed pixels alone. The NumPy time includes the conversion of both
pictures to arrays; the same without the conversion is printed beside it. Pictures: a desktop-like
scene, of which a window of a quarter of the width and height changed. The two are timed by turns
in every round, so that a busy machine slows both.

    python -m benchmarks.roi [--rounds N] [--json]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.roi import roi_pair

SIZES = ((1280, 720), (1920, 1080), (3840, 2160))
GOAL = 10.0

Pixels = NDArray[np.uint8]


def numpy_box(before: Pixels, after: Pixels) -> BoundingBox | None:
    changed = (before != after).any(axis=2)
    rows, columns = changed.any(axis=1), changed.any(axis=0)
    if not rows.any():
        return None
    top, left = int(rows.argmax()), int(columns.argmax())
    bottom = len(rows) - int(rows[::-1].argmax())
    right = len(columns) - int(columns[::-1].argmax())
    return BoundingBox(left, top, right, bottom)


def scene(width: int, height: int) -> tuple[Screenshot, Screenshot]:
    rng = np.random.default_rng(0)
    before = Image.new("RGB", (width, height), "#30343f")
    draw = ImageDraw.Draw(before)
    for _ in range(400):
        x, y = int(rng.integers(width)), int(rng.integers(height))
        draw.rectangle((x, y, x + width // 20, y + height // 40), fill=int(rng.integers(1 << 24)))
    after = before.copy()
    corner, size = (width // 3, height // 3), (width // 4, height // 4)
    noise = rng.integers(256, size=(size[1], size[0], 3), dtype=np.uint8)
    after.paste(Image.fromarray(noise), corner)
    return Screenshot(before), Screenshot(after)


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def measure(width: int, height: int, rounds: int) -> dict[str, float | str]:
    before, after = scene(width, height)
    arrays = np.asarray(before.pixels), np.asarray(after.pixels)
    observations = [Observation(picture, Size(width, height)) for picture in (before, after)]

    def region() -> BoundingBox | None:
        pair = roi_pair(observations[0], observations[1])
        return pair.box if pair else None

    contenders: dict[str, Callable[[], BoundingBox | None]] = {
        "hisa": region,
        "numpy": lambda: numpy_box(np.asarray(before.pixels), np.asarray(after.pixels)),
        "numpy_bare": lambda: numpy_box(*arrays),
    }
    answers = {work() for work in contenders.values()}
    if len(answers) != 1:
        raise SystemExit(f"the boxes differ at {width}x{height}: {answers}")
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            times[name].append(milliseconds(work))
    median = {name: statistics.median(values) for name, values in times.items()}
    return {
        "size": f"{width}x{height}",
        "hisa_ms": round(median["hisa"], 3),
        "numpy_ms": round(median["numpy"], 3),
        "numpy_without_conversion_ms": round(median["numpy_bare"], 3),
        "ratio": round(median["numpy"] / median["hisa"], 1),
        "ratio_without_conversion": round(median["numpy_bare"] / median["hisa"], 1),
    }


def machine() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    cpu = f"{models[0]}, {len(models)} cores" if models else platform.processor()
    return f"{cpu}; Python {platform.python_version()}, NumPy {np.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The ROI pair of a step against a plain NumPy box."
    )
    parser.add_argument("--rounds", type=int, default=31, help="median of so many (default 31)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    results = [measure(width, height, options.rounds) for width, height in SIZES]
    report = {
        "benchmark": "roi",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "rounds": options.rounds,
        "goal": GOAL,
        "results": results,
    }
    if options.json:
        print(json.dumps(report, indent=2))
        return
    print(f"ROI pair, median of {options.rounds}; {report['date']}; {report['machine']}")
    print("NumPy: any difference per pixel, rows and columns, from pictures / from ready arrays")
    for result in results:
        verdict = "met" if float(result["ratio"]) >= GOAL else "NOT met"
        print(
            f"{result['size']:>10}: HiSA {result['hisa_ms']} ms, NumPy {result['numpy_ms']} ms "
            f"({result['ratio']} times) / {result['numpy_without_conversion_ms']} ms "
            f"({result['ratio_without_conversion']} times); goal {GOAL:.0f} times: {verdict}"
        )


if __name__ == "__main__":
    main()
