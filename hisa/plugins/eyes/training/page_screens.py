"""Renders training screens of pages that are composed at random from component frameworks.

Chromium shows each page, and ``page_truth.js`` describes its controls from its DOM. Usage:

    python -m hisa.plugins.eyes.training.page_screens --into DIR --count N --seed S
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from PIL import Image

from hisa.errors import UsageError
from hisa.plugins.eyes.training.composing import Catalogue, Composer
from hisa.plugins.eyes.training.training_screens import (
    Row,
    drop_blank,
    read_screen_rows,
    write_screen,
)
from hisa.screen.observation import Screenshot

if TYPE_CHECKING:
    from selenium import webdriver

__all__ = ["describe_page", "main", "open_browser", "render_screens"]

_KEPT_EVERY = 11  # one of so many screens is of a framework that nothing is trained on
_ZOOMS = (0.75, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)
_FLAGS = ("headless=new", "no-sandbox", "disable-gpu", "host-resolver-rules=MAP * ~NOTFOUND")


def main(arguments: Sequence[str] | None = None) -> None:
    """Render the screens that the command line asks for."""
    parser = argparse.ArgumentParser(description="Render training screens in Chromium.")
    parser.add_argument("--into", type=Path, required=True, help="folder of the screens")
    parser.add_argument("--count", type=int, required=True, help="screens in all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--packages", type=Path, help="folder of npm packages, default INTO/npm")
    options = parser.parse_args(arguments)
    catalogue = Catalogue(options.packages or options.into / "npm")
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
    with open_browser() as browser:
        for number in range(len(read_screen_rows(folder)), count):
            split = "kept" if (number + 1) % _KEPT_EVERY == 0 else "train"
            composer = Composer(catalogue, split, f"{seed}-{number}")
            picture, boxes = _render_page(browser, composer)
            name, split = composer.framework["name"], composer.framework["split"]
            file = f"{number:05d}-{name}.webp"
            write_screen(folder, file, picture, source=name, split=split, boxes=boxes)


def open_browser() -> webdriver.Chrome:
    """Returns a Chromium without window and network, which ends as a context manager."""
    from selenium import webdriver

    if (driver := shutil.which("chromedriver")) is None:
        raise UsageError("no chromedriver", fix="sudo apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    for flag in _FLAGS:
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options, webdriver.ChromeService(driver))


def _render_page(browser: webdriver.Chrome, composer: Composer) -> tuple[Image.Image, list[Row]]:
    """Returns a page's picture and what can be seen on it, in a window of any size."""
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
        rows = describe_page(browser, scroll, focus)
        picture = Screenshot.from_png(browser.get_screenshot_as_png()).pixels
    return picture, drop_blank(rows, picture)


def describe_page(browser: webdriver.Chrome, *place: float) -> list[Row]:
    """Returns the controls that can be seen; ``place``: shares of the page to scroll and focus."""
    script = Path(__file__).with_name("page_truth.js").read_text(encoding="utf-8")
    return list(browser.execute_script(f"return ({script})(...arguments)", *place))


if __name__ == "__main__":
    main()
