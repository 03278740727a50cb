"""Renders training screens of pages that are composed at random from component frameworks.

Chromium shows each page, and ``page_truth.js`` describes its controls from its DOM. Usage:

    python -m hisa.plugins.eyes.training.page_screens --into DIR --count N --seed S
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from hisa.errors import UsageError
from hisa.plugins.eyes.training.composing import Catalogue, Composer

if TYPE_CHECKING:
    from selenium import webdriver

__all__ = ["describe_page", "main", "open_browser", "render_page", "render_screens"]

_VALIDATION_EVERY = 11  # one of so many screens is of a framework that nothing is trained on
_LEAST_CONTRAST = 10  # levels of a colour; a box with less shows nothing
_ZOOMS = (0.75, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)
_FLAGS = ("headless=new", "no-sandbox", "disable-gpu", "host-resolver-rules=MAP * ~NOTFOUND")


def main(arguments: Sequence[str] | None = None) -> None:
    """Render the screens that the command line asks for."""
    parser = argparse.ArgumentParser(description="Render training screens in Chromium.")
    parser.add_argument("--into", type=Path, required=True, help="folder of the screens")
    parser.add_argument("--count", type=int, required=True, help="screens in all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--frameworks", type=lambda names: names.split(","), default=())
    parser.add_argument("--packages", type=Path, help="folder of npm packages, default INTO/npm")
    options = parser.parse_args(arguments)
    catalogue = Catalogue(options.packages or options.into / "npm", options.frameworks)
    catalogue.fetch_packages()
    render_screens(catalogue, options.into, count=options.count, seed=options.seed)


def render_screens(catalogue: Catalogue, folder: Path, *, count: int, seed: str) -> None:
    """Render screens until the folder has ``count``, with ``screens.jsonl`` beside them.

    Args:
        catalogue: the frameworks, with their packages.
        folder: where the screens are written; those already there stay.
        count: number of screens in all.
        seed: a screen depends on this and on its number alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "screens.jsonl"
    present = len(index.read_text("utf-8").splitlines()) if index.exists() else 0
    with open_browser() as browser, index.open("a", encoding="utf-8") as lines:
        for number in range(present, count):
            split = "train" if (number + 1) % _VALIDATION_EVERY else "kept"
            screen, picture = render_page(browser, Composer(catalogue, split, f"{seed}-{number}"))
            row = {"file": f"{number:05d}-{screen['source']}.webp", **screen}
            (folder / row["file"]).write_bytes(picture)
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
            lines.flush()
            sys.stderr.write(f"\r{number + 1} of {count}")


def open_browser() -> webdriver.Chrome:
    """Returns a Chromium without window and network, which ends as a context manager."""
    from selenium import webdriver

    if (driver := shutil.which("chromedriver")) is None:
        raise UsageError("no chromedriver", fix="sudo apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    for flag in _FLAGS:
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options, webdriver.ChromeService(driver))


def render_page(browser: webdriver.Chrome, composer: Composer) -> tuple[dict[str, Any], bytes]:
    """Returns a screen's line of ``screens.jsonl`` without its file, and its picture as WebP."""
    random = Random(f"{composer.seed}-window")
    width, height = random.randrange(800, 1921, 8), random.randrange(600, 1081, 8)
    zoom = min(random.choice(_ZOOMS), width / 640)
    size = {"width": round(width / zoom), "height": round(height / zoom)}
    metrics = {**size, "deviceScaleFactor": zoom, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scroll = random.choice((0.0, 0.0, 0.0, random.random(), 1.0))
    focus = random.random() if random.random() < 0.4 else -1.0
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as page:
        page.write(composer.compose_page())
        page.flush()
        browser.get(Path(page.name).as_uri())
        things = describe_page(browser, scroll, focus)
        order = {"format": "webp", "quality": 95}
        picture = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", order)["data"])
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
    screen = {"source": composer.framework["name"], "split": composer.framework["split"]}
    screen |= {"width": pixels.shape[1], "height": pixels.shape[0]}
    boxes = [thing for thing in things if _has_contrast(pixels, *thing["box"])]
    return screen | {"boxes": boxes}, picture


def describe_page(browser: webdriver.Chrome, *place: float) -> list[dict[str, Any]]:
    """Returns the controls that can be seen; ``place``: shares of the page to scroll and focus."""
    script = Path(__file__).with_name("page_truth.js").read_text(encoding="utf-8")
    return list(browser.execute_script(f"return ({script})(...arguments)", *place))


def _has_contrast(pixels: np.ndarray[Any, Any], *box: int) -> bool:
    left, top, right, bottom = box
    part = pixels[max(0, top - 2) : bottom + 2, max(0, left - 2) : right + 2]
    return part.size > 0 and int(np.ptp(part, axis=(0, 1)).max()) >= _LEAST_CONTRAST


if __name__ == "__main__":
    main()
