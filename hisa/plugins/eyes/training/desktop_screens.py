"""Makes training screens of desktops: real programs on HiSA's private desktop, acted on at random.

    python -m hisa.plugins.eyes.training.desktop_screens --into DIR --count N --kept M --seed S

A run that was cut off goes on where it ended. `programs.toml` lists the programs, themes and roles;
some are in screens of the split "kept" alone. What is on a screen is known from HiSA's elements.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from hisa.actions import Action, Click, Move, Press, Scroll, Write
from hisa.config import EnvironmentSettings
from hisa.environments.open_environment import open_environment
from hisa.errors import HisaError
from hisa.plugins.eyes.training.desktop_truth import LISTS, STACK, describe_screen
from hisa.plugins.eyes.training.training_screens import Row, read_screen_rows, write_screen
from hisa.protocols import Environment
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation

__all__ = ["main", "make_screens", "plan_stage"]

_SHOTS = 8
"""Screens of one stage: starting its desktop and programs costs as much as about three."""
_MOST_CHANGED = 0.003
"""Share of the pixels that may move, as those of a progress bar; a menu has more."""
_LEAST_BOXES = 6
"""A screen with fewer shows programs that have not started, or that report nothing."""
_GTK = """[Settings]
gtk-font-name={font}
gtk-icon-theme-name={icons}
gtk-xft-dpi=98304
gtk-enable-animations=0
gtk-cursor-blink=0
"""
_GTK2 = 'gtk-theme-name="{gtk2}"\ngtk-font-name="{font}"\ngtk-icon-theme-name="{icons}"\n'


def plan_stage(seed: str, split: str) -> dict[str, Any]:
    """Choose a screen, programs and looks; returns them as values and as files of the home folder.

    Args:
        seed: the same seed plans the same stage on the same machine.
        split: "train" or "kept".
    """
    rng = Random(seed)
    locales = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout
    languages = [name for name in LISTS["languages"] if f"{name}.utf8" in locales.split()]
    language = rng.choice(languages) if languages and rng.random() < 0.4 else "C"
    size = Size(*rng.choice(LISTS["sizes"]))
    scale = 2 if size.width >= 1600 and rng.random() < 0.2 else 1
    qt_scale = scale if scale > 1 else rng.choice((1, 1, 1, 1.25, 1.5))
    pool = [item for item in LISTS["programs"] if item.get("split", "train") == split]
    programs = rng.sample(pool, min(len(pool), rng.choice((1, 1, 2, 2, 3))))
    themes = {kit: rng.choice(lists[split]) for kit, lists in LISTS["themes"].items()}
    style, _, kvantum = themes["qt"].partition(":")
    names = ("fonts", "icons", "frames", "title_layouts")
    family, icons, frame, layout = (rng.choice(LISTS[name]) for name in names)
    points = rng.choice((8, 9, 10, 10, 11, 12, 14))
    look = {"font": f"{family} {points}", "icons": icons, "gtk2": themes["gtk2"]}
    edits = f"s#<name>Clearlooks<#<name>{frame}<#; s#NLIMC#{layout}#"
    return {
        "size": size,
        "programs": programs,
        "themes": themes,
        "font_pixels": scale * points * 96 / 72,
        "variables": f"LANG={language}.UTF-8 LANGUAGE={language} GTK_THEME={themes['gtk']} "
        f"GTK_OVERLAY_SCROLLING=0 GDK_SCALE={scale} QT_SCALE_FACTOR={qt_scale} QT_FONT_DPI=96 "
        f"QT_STYLE_OVERRIDE={style}",
        "dress": f"xsetroot -solid '#{rng.randrange(1 << 24):06x}'; "
        f"sed -i '{edits}' ~/.config/openbox/rc.xml; openbox --reconfigure",
        "files": {
            **LISTS["files"],
            ".config/gtk-3.0/settings.ini": _GTK.format(**look),
            ".gtkrc-2.0": _GTK2.format(**look),
            ".config/Kvantum/kvantum.kvconfig": f"[General]\ntheme={kvantum}\n",
            ".config/kdeglobals": f"[Icons]\nTheme={icons}\n",
        },
    }


async def make_screens(folder: Path, split: str, count: int, seed: int) -> None:
    """Make screens until ``count`` of a split were tried; some do not come out.

    Args:
        folder: where screens.jsonl and the pictures are; it exists.
        split: "train" or "kept".
        count: the number of screens of this split, those of earlier runs included.
        seed: the same seed chooses the same programs, looks and acts.
    """
    ready = {row["file"] for row in read_screen_rows(folder)}
    for first in range(0, count, _SHOTS):
        numbers = range(first, min(count, first + _SHOTS))
        names = [f"{split}-{seed}-{number:05}.webp" for number in numbers]
        if ready.isdisjoint(names):
            stage = plan_stage(f"{seed}-{split}-{first}", split)
            source = "+".join(item["command"].split()[0] for item in stage["programs"])
            try:
                await _shoot(stage, folder, names, source=source, split=split)
            except HisaError as error:
                print(f"{source}: {error}", file=sys.stderr)  # noqa: T201


async def _shoot(stage: dict[str, Any], folder: Path, names: Sequence[str], **facts: str) -> None:
    """Set up a stage and write its screens, but for those that do not come out."""
    size, placed, rows = stage["size"], set[str](), list[Row]()
    settings = EnvironmentSettings(kind="desktop", width=size.width, height=size.height)
    async with open_environment(settings, size) as desktop:
        for name, text in stage["files"].items():
            await desktop.write_file(f"/home/user/{name}", text.encode())
        await desktop.execute(stage["dress"])
        for name in names:
            rng = Random(name)
            for _ in range(rng.choice((1, 1, 2)) if placed else 0):
                await _act(desktop, rows, rng)
            look = await _open_programs(desktop, stage, 4 if placed else 20)
            await _place_windows(desktop, look, placed, rng)
            picture, rows = await _look(desktop, stage["font_pixels"])
            if len(rows) >= _LEAST_BOXES:
                write_screen(folder, name, picture, **facts, boxes=rows)


async def _act(desktop: Environment, rows: list[Row], rng: Random) -> None:
    """Do something at random: click a control, type a word, scroll, hover, close what is open."""
    often = LISTS["acts"]
    usable = [row for row in rows if row["role"] in often and "disabled" not in row["states"]]
    if not usable or rng.random() < 0.15:
        await desktop.act([Press("esc")])
        return
    roles = sorted({row["role"] for row in usable})
    role = rng.choices(roles, [often[role] for role in roles])[0]
    row = rng.choice([row for row in usable if row["role"] == role])
    dialogs = [row for row in usable if row["name"].endswith(("…", "..."))]
    if dialogs and rng.random() < 0.4:
        row = rng.choice(dialogs)
    left, top, right, bottom = row["box"]
    place, draw = Point((left + right) // 2, (top + bottom) // 2, "screen"), rng.random()
    is_entry = row["role"] in ("list item", "table cell")
    acts: list[Action] = [Click(place, count=2 if is_entry and draw > 0.6 else 1)]
    if draw < 0.2:
        acts = [Move(place)] if draw < 0.1 else [Scroll(rng.choice((-5, -2, 3)), at=place)]
    elif row["role"] == "field":
        acts.append(Write(rng.choice(rows)["name"][:20] or "."))
    await desktop.act(acts)


async def _open_programs(desktop: Environment, stage: dict[str, Any], patience: int) -> Observation:
    """Start the programs of a stage that are not running; return a look, when they are there."""
    for item in stage["programs"]:
        name = item.get("process", item["command"].split()[0])[:15]
        start = f"env {stage['variables']} {item['command']} >/dev/null 2>&1 &"
        before = item.get("before", "true")
        await desktop.execute(f"cd; pgrep -x '{name}' && exit; {before}; {start}")
    for _ in range(patience):
        if len((look := await desktop.observe()).windows) >= len(stage["programs"]):
            break
        await asyncio.sleep(0.5)
    return look


async def _place_windows(
    desktop: Environment, observation: Observation, placed: set[str], rng: Random
) -> None:
    """Give new windows, and others now and then, a random place and size, above all others."""
    lines = []
    for window in observation.windows:
        if not window.dialog and (window.id not in placed or rng.random() < 0.1):
            wide, high = observation.screen.width, observation.screen.height - 30
            width, height = (int(side * rng.uniform(0.4, 1)) for side in (wide, high))
            left, top = rng.randint(0, wide - width), rng.randint(0, high - height)
            lines.append(f"-r {window.id} -b remove,maximized_vert,maximized_horz")
            lines.append(f"-r {window.id} -e 0,{left},{top},{width},{height}")
            lines.append(f"-a {window.id}")
        placed.add(window.id)
    await desktop.execute("; ".join(f"wmctrl -i {line}" for line in lines) or "true")


async def _look(desktop: Environment, font_pixels: float) -> tuple[Image.Image, list[Row]]:
    """Return a picture and what can be seen on it; nothing, if something kept changing."""
    for _ in range(4):
        look = await desktop.observe(elements=True, settle=2.0)
        stack = json.loads((await desktop.execute(["python3", "-c", STACK])).output or "[]")
        picture, again = look.screenshot.pixels, (await desktop.observe()).screenshot.pixels
        changed = np.mean(np.asarray(picture) != np.asarray(again))
        if stack and look.complete and not look.undrawn and changed < _MOST_CHANGED:
            return picture, describe_screen(look, stack, font_pixels)
    return picture, []


def main() -> None:
    """Make the screens that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="folder of the screens")
    parser.add_argument("--count", type=int, default=500, help='screens of the split "train"')
    parser.add_argument("--kept", type=int, default=0, help='screens of the split "kept"')
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    packages = sorted({*LISTS["packages"], *(item["package"] for item in LISTS["programs"])})
    if subprocess.run(["dpkg", "--status", *packages], capture_output=True, check=False).returncode:
        parser.error(f"apt-get install --no-install-recommends {' '.join(packages)}")
    options.into.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that desktops are closed
    for split, count in (("kept", options.kept), ("train", options.count)):
        asyncio.run(make_screens(options.into, split, count, options.seed))


if __name__ == "__main__":
    main()
