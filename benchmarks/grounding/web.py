"""Makes the grounding bench's screens of Chromium again, each in a browser that has just started.

The pages lie in ``pages``; those of MiniWoB++ come from its package. A browser starts anew for
each screen, because Chromium lost what stands inside HTML tables after a first navigation.

Usage: ``python -m benchmarks.grounding.web [--into FOLDER] [NAME...]``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.grounding.capture import SCREENS, Split, capture
from benchmarks.grounding.drive import AWAY, until
from hisa.actions import Action, Hotkey, Move, Press, Write
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Size
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task

PAGES = Path(__file__).parent / "pages"
_HOME = "/home/user/pages"
_SMALL = Size(1280, 720)
_LARGE = Size(1920, 1080)
_DOUBLE = Size(3840, 2160)
_LOOKS = 60
_CONTROLS = ("push button", "link", "entry", "check box", "spin button")
_FEW = 8  # the browser has as many before its page is there


@dataclass(frozen=True)
class Recipe:
    """How a screen comes to be.

    Attributes:
        split: "train" or "held".
        pages: files of ``pages``, one a tab, the first in front; or one page of MiniWoB++; or one
            of Chromium's own, by its address.
        size: of the screen.
        chrome: whether tabs and address bar are shown.
        keys: pressed once the page is there.
        dark: whether the page asks for a dark look by itself; said in the screen.
    """

    split: Split
    pages: tuple[str, ...]
    size: Size = _SMALL
    chrome: bool = False
    keys: tuple[Action, ...] = ()
    dark: bool = False

    @property
    def miniwob(self) -> bool:
        """Whether it is a page of MiniWoB++."""
        return self.pages[0].startswith("miniwob:")

    @property
    def own(self) -> bool:
        """Whether it is a page of Chromium itself."""
        return self.pages[0].startswith("chrome://")


RECIPES: dict[str, Recipe] = {
    "web-register": Recipe("train", ("register",)),
    "web-render": Recipe("train", ("render",), dark=True),
    "web-orders": Recipe("train", ("orders",), _LARGE),
    "web-settings": Recipe("train", ("settings", "orders", "team"), chrome=True),
    "web-settings-menu": Recipe(
        "train", ("settings", "register"), chrome=True, keys=(Hotkey(("alt", "f")),)
    ),
    "web-team": Recipe("train", ("team",)),
    "web-budget": Recipe("train", ("budget",), _DOUBLE),
    "web-login-user": Recipe("train", ("miniwob:login-user",)),
    "web-email-inbox": Recipe("train", ("miniwob:email-inbox",)),
    "web-book-flight": Recipe("train", ("miniwob:book-flight",)),
    "web-use-spinner": Recipe("train", ("miniwob:use-spinner",)),
    "web-click-checkboxes": Recipe("train", ("miniwob:click-checkboxes",)),
    "web-board": Recipe("train", ("board",)),
    "web-chat": Recipe("train", ("chat",), dark=True),
    "web-map": Recipe("train", ("map",)),
    "web-grid": Recipe("train", ("grid",), _LARGE),
    "web-code": Recipe("train", ("code",), _LARGE, dark=True),
    "web-survey": Recipe("train", ("survey",)),
    "web-dash": Recipe("train", ("dash",), _DOUBLE),
    "web-upload": Recipe("train", ("upload",)),
    "web-phone": Recipe("train", ("phone",), dark=True),
    "web-paint": Recipe("train", ("paint",), dark=True),
    "web-chrome-appearance": Recipe("train", ("chrome://settings/appearance",), chrome=True),
    "web-chrome-searches": Recipe(
        "train", ("chrome://settings/searchEngines",), _LARGE, chrome=True
    ),
    "web-mail": Recipe("held", ("mail",)),
    "web-calendar": Recipe("held", ("calendar",)),
    "web-shop": Recipe("held", ("shop",), _LARGE),
    "web-article": Recipe("held", ("article", "shop", "mail"), chrome=True),
    "web-ryokan": Recipe("held", ("ryokan",)),
    "web-player": Recipe("held", ("player",), dark=True),
    "web-tickets": Recipe("held", ("tickets",), _DOUBLE),
    "web-drive": Recipe("held", ("drive",)),
    "web-social-media": Recipe("held", ("miniwob:social-media",)),
    "web-text-editor": Recipe("held", ("miniwob:text-editor",)),
    "web-order-food": Recipe("held", ("miniwob:order-food",)),
    "web-choose-date": Recipe("held", ("miniwob:choose-date",), keys=(Press("tab"),)),
    "web-use-slider-2": Recipe("held", ("miniwob:use-slider-2",)),
}


async def make(name: str, recipe: Recipe, folder: Path) -> None:
    """Take that screen on a desktop of its own; its files go into the folder."""
    async with DesktopEnvironment(recipe.size, image_limit=recipe.size) as desktop:
        if recipe.miniwob:
            await TaskScorer().prepare(load_task(recipe.pages[0], seed=7), desktop)
        else:
            await _open(desktop, recipe)
        if recipe.keys:
            await desktop.act(recipe.keys)
        app, about = _app(recipe), _about(recipe)
        await capture(desktop, name, split=recipe.split, app=app, about=about, folder=folder)


async def _open(desktop: DesktopEnvironment, recipe: Recipe) -> None:
    for page in recipe.pages if not recipe.own else ():
        data = (PAGES / f"{page}.html").read_bytes()
        await desktop.write_file(f"{_HOME}/{page}.html", data)
    urls = "" if recipe.own else " ".join(f"file://{_HOME}/{page}.html" for page in recipe.pages)
    mode = "--start-maximized" if recipe.chrome else "--kiosk"
    scale = 2 if recipe.size == _DOUBLE else 1
    flags = f"{mode} --no-sandbox --test-type --force-device-scale-factor={scale}"
    await desktop.execute(f"chromium {flags} {urls} >/dev/null 2>&1 &")
    for _ in range(_LOOKS):
        observation = await desktop.observe(elements=True, settle=2.0)
        if len([e for e in observation.elements or () if e.role in _CONTROLS]) > _FEW:
            break
    else:
        raise RuntimeError(f"{recipe.pages[0]}: the page did not come up")
    if recipe.own:
        await _visit(desktop, recipe.pages[0])


async def _visit(desktop: DesktopEnvironment, address: str) -> None:
    """Go to one of Chromium's own pages, which it does not open from its command line."""
    await desktop.act((Hotkey(("ctrl", "l")), Write(address), Press("enter")))
    await until(
        desktop,
        lambda observation: observation.active and "New Tab" not in observation.active.title,
    )
    await desktop.act((Move(AWAY),))


def _app(recipe: Recipe) -> str:
    return recipe.pages[0] if recipe.miniwob or recipe.own else f"chromium:{recipe.pages[0]}"


def _about(recipe: Recipe) -> str:
    if recipe.miniwob:
        return f"MiniWoB++ page {recipe.pages[0].removeprefix('miniwob:')} with seed 7"
    page = recipe.pages[0] if recipe.own else f"pages/{recipe.pages[0]}.html"
    words = [f"{page} in a Chromium just started"]
    words += ["with tabs"] if recipe.chrome else ["over the whole screen"]
    words += ["at twice the usual scale"] if recipe.size == _DOUBLE else []
    words += ["and its menu open"] if recipe.keys else []
    words += [", dark"] if recipe.dark else []
    return " ".join(words).replace(" ,", ",")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of screens; default: all")
    parser.add_argument("--into", type=Path, default=SCREENS, help="folder of the screens")
    options = parser.parse_args()
    for name in options.names or list(RECIPES):
        asyncio.run(make(name, RECIPES[name], options.into))
        print(name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
