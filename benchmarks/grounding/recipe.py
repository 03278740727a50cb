"""Makes the screens of desktop programs and LibreOffice again, each on a desktop of its own.

    python -m benchmarks.grounding.recipe [--into FOLDER] [NAME…]

Without names, all of them are made. Besides what `scripts/install-system.sh` installs, this needs
the packages libreoffice-writer, libreoffice-impress, zenity, galculator, xfce4-terminal, thunar,
atril, engrampa, meld, ristretto, gucharmap, catfish, homebank, inkscape, transmission-gtk,
xfce4-screenshooter, xfce4-settings, featherpad and qpdfview.

The boxes of the targets belong to the screens as they are kept. Make them into another folder
first: where the elements of a NAME.json differ, that screen's targets need their boxes checked.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.grounding.capture import SCREENS, Split, capture
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Size

__all__ = ["HD", "LARGE", "UHD", "Screen", "capture", "known_screens", "screen"]

HD, LARGE, UHD = Size(1280, 720), Size(1920, 1080), Size(3840, 2160)

_PARTS = ("gtk", "office", "programs")
"""Modules beside this one; importing one registers its screens."""


@dataclass(frozen=True)
class Screen:
    """How one screen is made: ``prepare`` brings a fresh desktop to the state that is shown."""

    name: str
    prepare: Callable[[DesktopEnvironment], Awaitable[None]]
    split: Split
    app: str
    size: Size

    async def make(self, folder: Path) -> None:
        """Start a desktop, prepare it and keep what it shows; ``prepare`` says what that is."""
        async with DesktopEnvironment(self.size, image_limit=self.size) as desktop:
            await self.prepare(desktop)
            about = " ".join((self.prepare.__doc__ or "").split())
            await capture(
                desktop, self.name, split=self.split, app=self.app, about=about, folder=folder
            )


_known: dict[str, Screen] = {}


def screen(
    *, split: Split, app: str, size: Size = HD
) -> Callable[
    [Callable[[DesktopEnvironment], Awaitable[None]]],
    Callable[[DesktopEnvironment], Awaitable[None]],
]:
    """Registers a screen; the decorated function's name is the screen's.

    Args:
        split: "train" or "held".
        app: the application, as "mousepad".
        size: the desktop, in pixels.
    """

    def register(
        prepare: Callable[[DesktopEnvironment], Awaitable[None]],
    ) -> Callable[[DesktopEnvironment], Awaitable[None]]:
        name = prepare.__name__
        _known[name] = Screen(name, prepare, split, app, size)
        return prepare

    return register


def known_screens() -> dict[str, Screen]:
    """These screens by name."""
    # A program run with -m is not the module that the parts import, so both ask that one.
    from benchmarks.grounding import recipe

    for part in _PARTS:
        importlib.import_module(f"benchmarks.grounding.{part}")
    return dict(recipe._known)


async def _make(screens: list[Screen], folder: Path) -> int:
    failed = 0
    for screen in screens:
        started = time.perf_counter()
        try:
            await screen.make(folder)
            print(f"{screen.name}: made in {time.perf_counter() - started:.0f} s", flush=True)
        except RuntimeError as error:
            failed += 1
            print(f"{screen.name}: {error}", flush=True)
    return failed


def main() -> int:
    """Makes the screens that were asked for."""
    screens = known_screens()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(sorted(screens)))
    parser.add_argument("--into", type=Path, default=SCREENS, help="folder of the screens")
    options = parser.parse_args()
    names = options.names or sorted(screens)
    if unknown := [name for name in names if name not in screens]:
        parser.error(f"no screen {unknown[0]!r}; there are {', '.join(sorted(screens))}")
    return 1 if asyncio.run(_make([screens[name] for name in names], options.into)) else 0


if __name__ == "__main__":
    sys.exit(main())
