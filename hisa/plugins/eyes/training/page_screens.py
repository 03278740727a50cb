"""Training screens from pages composed at random from real component frameworks.

`frameworks.toml` is the data: frameworks, the markup of their components, and layouts. A page is
made from a seed, shown in Chromium, and described from its DOM by `page_truth.js`. Usage:

    python -m hisa.plugins.eyes.training.page_screens --into DIR --count N --seed S
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from hisa.errors import EnvironmentFailed
from hisa.plugins.eyes.training.catalogue import Catalogue
from hisa.plugins.eyes.training.chromium import Chromium
from hisa.plugins.eyes.training.composing import Composer

__all__ = ["describe_page", "main", "render_page", "render_screens"]

_TRUTH = Path(__file__).with_name("page_truth.js")
_HELD_OUT_EVERY = 11
"""One of so many screens is of a framework that nothing is trained on."""
_ZOOMS = (0.75, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)
_LEAST_WIDTH = 640
"""CSS pixels."""
_SCREENS_A_BROWSER = 200
_ATTEMPTS = 3
_QUALITY = 95
_INVISIBLE = 10
"""Grey levels: a box with less contrast than this shows nothing."""
_PREPARE = """
(async ([scroll, focus, marks]) => {
  const waited = [...document.querySelectorAll(":not(:defined)")].map(node => node.localName);
  await Promise.all([...new Set(waited)].map(name => Promise.race(
    [customElements.whenDefined(name), new Promise(done => setTimeout(done, 3000))])));
  if (waited.length) await new Promise(done => setTimeout(done, 150));
  for (const [host, part, role] of marks)
    for (const node of document.querySelectorAll(host)) {
      node.dataset.role = "none";
      node.shadowRoot?.querySelectorAll(part).forEach(drawn => { drawn.dataset.role = role; });
    }
  const controls = [...document.querySelectorAll("button, input, select, textarea, a[href]")];
  if (focus >= 0 && controls.length)
    controls[Math.floor(focus * controls.length)].focus({preventScroll: true, focusVisible: true});
  const root = document.documentElement;
  window.scrollTo(0, scroll * (root.scrollHeight - root.clientHeight));
  for (const node of document.querySelectorAll(".x-scroll"))
    node.scrollTop = scroll * (node.scrollHeight - node.clientHeight);
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return 0;
})(%s)
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Render the screens that the command line asks for."""
    parser = argparse.ArgumentParser(description="Render training screens in Chromium.")
    parser.add_argument("--into", type=Path, required=True, help="folder of the screens")
    parser.add_argument("--count", type=int, required=True, help="screens in all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--frameworks", default="", help="names, divided by commas")
    parser.add_argument("--packages", type=Path, help="folder of npm packages, default INTO/npm")
    options = parser.parse_args(arguments)
    catalogue = Catalogue(options.packages or options.into / "npm")
    names = [name for name in options.frameworks.split(",") if name] or list(catalogue.frameworks)
    catalogue.fetch_packages(names)
    render_screens(catalogue, names, options.into, count=options.count, seed=options.seed)


def render_screens(
    catalogue: Catalogue, names: Sequence[str], folder: Path, *, count: int, seed: str
) -> None:
    """Render screens until the folder has ``count``, with ``screens.jsonl`` beside them.

    Args:
        catalogue: the frameworks, with their packages.
        names: frameworks to draw from.
        folder: where the screens are written; those already there stay.
        count: number of screens in all.
        seed: a screen depends on this and on its number alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "screens.jsonl"
    present = len(index.read_text().splitlines()) if index.exists() else 0
    browser, began = Chromium(), time.monotonic()
    try:
        with index.open("a") as lines:
            for number in range(present, count):
                if number > present and number % _SCREENS_A_BROWSER == 0:
                    browser.close()
                    browser = Chromium()
                name = _choose_framework(catalogue, names, number, seed)
                screen, browser = _render_safely(browser, catalogue, name, f"{seed}-{number}")
                file = f"{number:05d}-{name}.webp"
                (folder / file).write_bytes(screen.pop("picture"))
                lines.write(json.dumps({"file": file, **screen}, ensure_ascii=False) + "\n")
                lines.flush()
                _show_progress(number + 1 - present, count - present, began)
    finally:
        browser.close()


def render_page(browser: Chromium, composer: Composer) -> dict[str, Any]:
    """Returns a screen's line of ``screens.jsonl`` without its file, and its ``picture`` (WebP).

    Args:
        browser: shows the page.
        composer: makes the page, and decides its size, zoom, scroll position and focus.
    """
    random = Random(f"{composer.seed}-window")
    width, height = random.randrange(800, 1921, 8), random.randrange(600, 1081, 8)
    zoom = min(random.choice(_ZOOMS), width / _LEAST_WIDTH)
    scroll = random.choice((0.0, 0.0, 0.0, random.random(), 1.0))
    focus = random.random() if random.random() < 0.4 else -1
    with tempfile.TemporaryDirectory(prefix="hisa-eyes-page-") as folder:
        page = Path(folder) / "page.html"
        page.write_text(composer.compose_page(), encoding="utf-8")
        css_width, css_height = round(width / zoom), round(height / zoom)
        metrics = {"width": css_width, "height": css_height, "deviceScaleFactor": zoom}
        browser.call("Emulation.setDeviceMetricsOverride", mobile=False, **metrics)
        browser.show(page.as_uri())
        marks = composer.framework.marks
        browser.evaluate(_PREPARE % json.dumps([scroll, focus, marks]))
        things = describe_page(browser)
        shot = browser.call("Page.captureScreenshot", format="webp", quality=_QUALITY)
    picture = base64.b64decode(shot["data"])
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("L"))
    size = (pixels.shape[1], pixels.shape[0])
    boxes = [thing | {"box": _scale_box(thing["box"], zoom, size)} for thing in things]
    return {
        "source": composer.framework.name,
        "split": composer.framework.split,
        "width": size[0],
        "height": size[1],
        "boxes": [thing for thing in boxes if _is_visible(thing["box"], pixels)],
        "picture": picture,
    }


def describe_page(browser: Chromium) -> list[dict[str, Any]]:
    """Returns the visible controls of the page that is shown, with boxes in CSS pixels."""
    return list(browser.evaluate(_TRUTH.read_text(encoding="utf-8")))


def _render_safely(
    browser: Chromium, catalogue: Catalogue, name: str, seed: str
) -> tuple[dict[str, Any], Chromium]:
    """Returns a screen and the browser to go on with: a new one after a failure."""
    for attempt in range(_ATTEMPTS):
        try:
            composer = Composer(catalogue, name, f"{seed}-{attempt}" if attempt else seed)
            return render_page(browser, composer), browser
        except EnvironmentFailed as error:
            sys.stderr.write(f"{name} {seed}: {error}\n")
            browser.close()
            browser = Chromium()
    raise EnvironmentFailed(f"{name} {seed} failed {_ATTEMPTS} times")


def _choose_framework(catalogue: Catalogue, names: Sequence[str], number: int, seed: str) -> str:
    split = "kept" if number % _HELD_OUT_EVERY == _HELD_OUT_EVERY - 1 else "train"
    frameworks = [catalogue.frameworks[name] for name in names]
    eligible = [framework for framework in frameworks if framework.split == split] or frameworks
    shares = [framework.share for framework in eligible]
    return Random(f"{seed}-{number}-framework").choices(eligible, shares)[0].name


def _scale_box(box: Sequence[float], zoom: float, size: tuple[int, int]) -> list[int]:
    limits = (*size, *size)
    return [min(limit, max(0, round(edge * zoom))) for edge, limit in zip(box, limits, strict=True)]


def _is_visible(box: Sequence[int], pixels: np.ndarray[Any, Any]) -> bool:
    left, top, right, bottom = box
    part = pixels[max(0, top - 2) : bottom + 2, max(0, left - 2) : right + 2]
    return part.size > 0 and int(part.max()) - int(part.min()) >= _INVISIBLE


def _show_progress(finished: int, total: int, began: float) -> None:
    if finished % 20 == 0 or finished == total:
        seconds = (time.monotonic() - began) / finished
        sys.stderr.write(f"{finished} of {total}, {seconds:.2f} s a screen\n")


if __name__ == "__main__":
    main()
