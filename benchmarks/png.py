"""HiSA's PNG encoder against Pillow's: a screen, the screen after it in a run, and noise.

python -m benchmarks.png [--json]
"""

from __future__ import annotations

import io
import json
import statistics
import sys
import time
from collections.abc import Callable

from PIL import Image

from benchmarks.loop import screens
from benchmarks.machine import machine
from hisa.screen.png import encode_rgb

RUNS = 15


def hisa(image: Image.Image) -> bytes:
    """HiSA's encoder, the copy out of Pillow's picture included."""
    return encode_rgb(image.width, image.height, image.tobytes())


def pillow(image: Image.Image) -> bytes:
    """Pillow's fastest compressing level."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def median_ms(
    encode: Callable[[Image.Image], bytes], image: Image.Image, before: Image.Image
) -> float:
    """Median time of one encoding, after another picture was encoded."""
    times = []
    for _ in range(RUNS):
        encode(before)
        started = time.perf_counter()
        encode(image)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def main() -> None:
    slides = screens()
    noise = Image.effect_noise(slides[0].size, 60).convert("RGB")
    pictures = {
        "spreadsheet": (slides[1], noise),
        "after a step": (slides[1], slides[0]),
        "noise": (noise, slides[0]),
    }
    rows = []
    for name, (image, before) in pictures.items():
        hisa_ms, pillow_ms = median_ms(hisa, image, before), median_ms(pillow, image, before)
        sizes = len(hisa(image)), len(pillow(image))
        rows.append((name, hisa_ms, pillow_ms, pillow_ms / hisa_ms, *sizes))
    if "--json" in sys.argv:
        print(json.dumps(rows))
        return
    print(f"PNG of a 1280x720 screen, median of {RUNS} ({machine()})")
    for name, hisa_ms, pillow_ms, ratio, size, pillow_size in rows:
        print(
            f"  {name:<12} HiSA {hisa_ms:6.1f} ms {size / 1000:6.0f} kB   "
            f"Pillow {pillow_ms:6.1f} ms {pillow_size / 1000:6.0f} kB   {ratio:4.1f} times faster"
        )


if __name__ == "__main__":
    main()
