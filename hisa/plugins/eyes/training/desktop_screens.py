"""Makes training screens of desktops: real programs on HiSA's private desktop, acted on at random.

    python -m hisa.plugins.eyes.training.desktop_screens --into DIR --count N --kept M --seed S

A run that was cut off goes on where it ended. `programs.toml` lists the programs, themes and roles;
some are in screens of the split "kept" alone. What is on a screen is known from HiSA's elements.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from hisa.actions import Action, Click, Move, Press, Scroll, Write
from hisa.config import EnvironmentSettings
from hisa.environments.open_environment import open_environment
from hisa.errors import HisaError
from hisa.plugins.eyes.training.desktop_truth import LISTS, ROWS, STACK, Row, Stack, describe_screen
from hisa.protocols import Environment
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation

__all__ = ["install_command", "main", "make_screens", "plan_stage"]

_SHOTS = 8
"""Screens of one stage: starting its desktop and programs costs as much as about three."""
_MOST_CHANGED = 0.003
"""Share of the pixels that may move, as those of a progress bar; a menu has more."""
_STILL = "gtk-enable-animations=0\ngtk-cursor-blink=0\n"
_LEAST_BOXES = 6
"""A screen with fewer shows programs that have not started, or that report nothing."""


def install_command() -> str:
    """Return the command that installs the missing packages; empty: all are there."""
    packages = sorted({*LISTS["packages"], *(item["package"] for item in LISTS["programs"])})
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *packages]
    listed = subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()
    missing = [package for package in packages if f"{package} installed" not in listed]
    return f"apt-get install --no-install-recommends {' '.join(missing)}" if missing else ""


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
    points, dpi = rng.choice((8, 9, 10, 10, 11, 12)), rng.choice((84, 96, 96, 96, 108, 120))
    pool = [item for item in LISTS["programs"] if item.get("split", "train") == split]
    programs = rng.sample(pool, min(len(pool), rng.choice((1, 1, 2, 2, 3))))
    themes = {kit: rng.choice(lists[split]) for kit, lists in LISTS["themes"].items()}
    style, _, kvantum = themes["qt"].partition(":")
    names = ("fonts", "icons", "frames", "title_layouts")
    family, icons, frame, layout = (rng.choice(LISTS[name]) for name in names)
    edits = f"s#<name>Clearlooks<#<name>{frame}<#; s#NLIMC#{layout}#"
    config = "~/.config/openbox/rc.xml; openbox --reconfigure"
    gtk = (
        f"gtk-font-name={family} {points}\ngtk-icon-theme-name={icons}\ngtk-xft-dpi={dpi * 1024}\n"
    )
    gtk2 = f'gtk-theme-name="{themes["gtk2"]}"\ngtk-font-name="{family} {points}"\n'
    variables = f"LANG={language}.UTF-8 LANGUAGE={language} GTK_THEME={themes['gtk']} "
    variables += f"GTK_OVERLAY_SCROLLING=0 GDK_SCALE={scale} QT_SCALE_FACTOR={qt_scale} "
    variables += f"QT_FONT_DPI=96 QT_STYLE_OVERRIDE={style}"
    return {
        "size": size,
        "programs": programs,
        "themes": themes,
        "font_pixels": scale * points * dpi / 72,
        "variables": variables,
        "dress": f"xsetroot -solid '#{rng.randrange(1 << 24):06x}'; sed -i '{edits}' {config}",
        "files": {
            **LISTS["files"],
            ".config/gtk-3.0/settings.ini": f"[Settings]\n{gtk}{_STILL}",
            ".gtkrc-2.0": f'{gtk2}gtk-icon-theme-name="{icons}"\n',
            ".config/Kvantum/kvantum.kvconfig": f"[General]\ntheme={kvantum}\n",
            ".config/kdeglobals": f"[Icons]\nTheme={icons}\n",
        },
    }


async def _look(desktop: Environment) -> tuple[Observation, Stack] | None:
    """Return a complete look with the windows of the same moment; None: something kept changing."""
    for _ in range(4):
        look = await desktop.observe(elements=True, settle=2.0)
        stack: Stack = json.loads((await desktop.execute(["python3", "-c", STACK])).output or "[]")
        again = (await desktop.observe()).screenshot.pixels
        changed = np.mean(np.asarray(look.screenshot.pixels) != np.asarray(again))
        if stack and look.complete and not look.undrawn and changed < _MOST_CHANGED:
            return look, stack
    return None


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
) -> bool:
    """Give windows a random place and size, new ones always; return whether any was moved."""
    lines = []
    for window in observation.windows:
        if not window.dialog and (window.id not in placed or rng.random() < 0.15):
            wide, high = observation.screen.width, observation.screen.height - 30
            width, height = (int(side * rng.uniform(0.4, 1)) for side in (wide, high))
            left, top = rng.randint(0, wide - width), rng.randint(0, high - height)
            lines.append(f"-r {window.id} -b remove,maximized_vert,maximized_horz")
            lines.append(f"-r {window.id} -e 0,{left},{top},{width},{height}")
        placed.add(window.id)
    if observation.windows and rng.random() < 0.15:
        lines.append(f"-a {rng.choice(observation.windows).id}")
    await desktop.execute("; ".join(f"wmctrl -i {line}" for line in lines) or "true")
    return bool(lines)


async def _act(desktop: Environment, rows: list[Row], rng: Random) -> None:
    """Do something at random: click a control, type a word, scroll, hover, close what is open."""
    often = LISTS["acts"]
    usable = [row for row in rows if row["role"] in often and "disabled" not in row["states"]]
    dialogs = [row for row in usable if row["name"].endswith(("…", "..."))]
    blocked = any(row["role"] == "dialog" for row in rows)
    if not usable or rng.random() < (0.3 if blocked else 0.1):
        await desktop.act([Press("esc")])
        return
    roles = sorted({row["role"] for row in usable})
    role = rng.choices(roles, [often[role] for role in roles])[0]
    row = rng.choice([row for row in usable if row["role"] == role])
    if dialogs and rng.random() < 0.4:
        row = rng.choice(dialogs)
    left, top, right, bottom = row["box"]
    place, draw = Point((left + right) // 2, (top + bottom) // 2, "screen"), rng.random()
    acts: list[Action] = [Click(place, count=rng.choice((1, 2)) if role in ROWS else 1)]
    if draw < 0.2:
        acts = [Move(place)] if draw < 0.1 else [Scroll(rng.choice((-5, -2, 3)), at=place)]
    elif row["role"] == "field":
        words = [word for row in rows for word in re.findall(r"\w+", row["name"])]
        acts.append(Write(rng.choice(words or ["."])))
    await desktop.act(acts)


async def _shoot(
    stage: dict[str, Any], seed: str, numbers: list[int]
) -> AsyncIterator[tuple[int, Image.Image, list[Row]]]:
    """Set up a stage; yields the screens of these numbers, but for those that did not come out."""
    size, placed, rows = stage["size"], set[str](), list[Row]()
    settings = EnvironmentSettings(kind="desktop", width=size.width, height=size.height)
    async with open_environment(settings, size) as desktop:
        for name, text in stage["files"].items():
            await desktop.write_file(f"/home/user/{name}", text.encode())
        await desktop.execute(stage["dress"])
        for number in numbers:
            rng = Random(f"{seed}-{number}")
            for _ in range(rng.choice((1, 1, 2, 2, 3)) if rows else 0):
                await _act(desktop, rows, rng)
                if looked := await _look(desktop):
                    rows = describe_screen(*looked, stage["font_pixels"])
            now = await _open_programs(desktop, stage, 4 if rows else 20)
            if await _place_windows(desktop, now, placed, rng) or not rows:
                looked = await _look(desktop)
            if not looked:
                continue
            rows = describe_screen(*looked, stage["font_pixels"])
            if any(element.role == "file chooser" for element in looked[0].elements or ()):
                await desktop.act([Press("esc")])
            elif len(rows) >= _LEAST_BOXES:
                yield number, looked[0].screenshot.pixels, rows


async def make_screens(folder: Path, split: str, count: int, seed: int) -> AsyncIterator[str]:
    """Make screens until ``count`` of a split were tried; yields the file name of each.

    Args:
        folder: where screens.jsonl and the pictures are; it exists.
        split: "train" or "kept".
        count: the number of screens of this split, those of earlier runs included.
        seed: the same seed chooses the same programs, looks and acts.
    """
    with (folder / "screens.jsonl").open("a+", encoding="utf-8") as lines:
        lines.seek(0)
        ready = {json.loads(line)["file"] for line in lines}
        for first in range(0, count, _SHOTS):
            shots = range(first, min(count, first + _SHOTS))
            names = {number: f"{split}-{seed}-{number:05}.webp" for number in shots}
            missing = [number for number in names if names[number] not in ready]
            if len(missing) < len(names) / 2:  # the others did not come out
                continue
            stage = plan_stage(f"{seed}-{split}-{first}", split)
            source = "+".join(item["command"].split()[0] for item in stage["programs"])
            try:
                async for number, picture, rows in _shoot(stage, f"{seed}-{split}", missing):
                    picture.save(folder / names[number], "WEBP", quality=92, method=2)
                    record: Row = {"file": names[number], "source": source, "split": split}
                    record |= {"width": picture.width, "height": picture.height, "boxes": rows}
                    lines.write(json.dumps(record, ensure_ascii=False) + "\n")
                    lines.flush()
                    yield names[number]
            except HisaError as error:
                print(f"{source}: {error}", file=sys.stderr)  # noqa: T201


async def _make_all(folder: Path, counts: dict[str, int], seed: int) -> None:
    for split, count in counts.items():
        started, number = time.perf_counter(), 0
        async for name in make_screens(folder, split, count, seed):
            number += 1
            pace = (time.perf_counter() - started) / number
            print(f"{name} of {count}, {pace:.1f} s a screen", flush=True)  # noqa: T201


def main() -> int:
    """Make the screens that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="folder of the screens")
    parser.add_argument("--count", type=int, default=500, help='screens of the split "train"')
    parser.add_argument("--kept", type=int, default=0, help='screens of the split "kept"')
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if command := install_command():
        parser.error(f"packages are missing; {command}")
    options.into.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that desktops are closed
    counts = {"kept": options.kept, "train": options.count}
    asyncio.run(_make_all(options.into, counts, options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
