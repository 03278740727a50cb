"""GTA1's grounder on a small net: cold start, click-reward GRPO, table 6's arms, cleaning.

    python -m benchmarks.click_grounder --jobs 2 --out clicks.json
    python -m benchmarks.click_grounder --arm click --seed 0 --updates 200
    python -m benchmarks.click_grounder --arm click --style plain --style square

Each arm of each seed is a process with one thread, which draws the pages of its seed once. Tests
are on the same held-out pages: on which share the likeliest reply clicks into the true box. Needs
torch, numpy, scipy, Pillow and nothing else beside the standard library.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from benchmarks.red_team.report import rate
from hisa.plugins.training import box_cleaning
from hisa.plugins.training import widget_pages as pages

PAGES, TESTED = 4096, 1000
WAYS = ("updates", "pages")
ARMS: dict[str, dict[str, Any]] = {
    "click": {},
    "click+iou": {"reward": "click+iou"},
    "click+format": {"reward": "click+format"},
    "all": {"reward": "all"},
    "from scratch": {"cold_start": 0, "rate": 1e-3, "entropy_bonus": 0.03},
    "20% bad": {"planted": 0.2},
    "20% bad, cleaned": {"planted": 0.2, "clean": True},
    "50% bad": {"planted": 0.5},
    "50% bad, cleaned": {"planted": 0.5, "clean": True},
}
"""Eq. 4 has no entropy term; only the arm from scratch has a bonus, without which it collapses."""


def plant_errors(
    targets: Iterable[pages.Target], share: float, seed: int
) -> Iterator[pages.Target]:
    """Some of the boxes lie elsewhere on the page, clear of what they were around."""
    random_ = random.Random(f"planted {seed}")
    for target in targets:
        if random_.random() < share:
            left, top, right, bottom = box = target.box
            while pages.overlap(box, target.box):
                x = random_.uniform(-left, pages.WIDTH - 1 - right)
                y = random_.uniform(-top, pages.HEIGHT - 1 - bottom)
                box = pages.Box(left + x, top + y, right + x, bottom + y)
            target = replace(target, box=box, place=f"planted {target.place}")
        yield target


def draw_targets(first: int, count: int, styles: list[str]) -> Iterator[pages.Target]:
    """The targets of pages for training, the styles in turn."""
    for place, style in enumerate(styles):
        yield from pages.targets(range(first + place, first + count, len(styles)), style)


def standing_out(target: pages.Target) -> list[pages.Box]:
    """Returns the boxes of what stands out from the ground of a drawn page, piece by piece."""
    pixels = np.asarray(target.picture)
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    stands_out = (pixels != colours[counts.argmax()]).any(2)
    labels, _ = ndimage.label(stands_out, np.ones((3, 3)))
    slices = ndimage.find_objects(labels)
    return [pages.Box(x.start, y.start, x.stop, y.stop) for y, x in slices]


def run(arm: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    import torch

    from hisa.plugins.training.grounder import ClickTrainer, Pool
    from hisa.plugins.training.training_settings import ClickSettings

    torch.set_num_threads(1)
    started, arm_options = time.perf_counter(), dict(ARMS[arm])
    bad, cleaned = arm_options.pop("planted", 0.0), arm_options.pop("clean", False)
    updates, count = options.updates, options.pages
    train = [*plant_errors(draw_targets(seed * count, count, options.styles), bad, seed)]
    counts = {"drawn": len(train), "planted": sum("planted" in t.place for t in train)}
    if cleaned:
        train, dropped, _ = box_cleaning.clean(train, standing_out)
        right = sum("planted" not in drop.target.place for drop in dropped)
        counts |= {"dropped": len(dropped), "right dropped": right}
    counts["bad left"] = sum("planted" in t.place for t in train)
    held_out = range(pages.HELD_OUT_SEEDS, pages.HELD_OUT_SEEDS + TESTED)
    tests = {s: Pool([*pages.targets(held_out, s, every=False)]) for s in pages.STYLES}
    trainer, pool = ClickTrainer(ClickSettings(seed=seed, **arm_options)), Pool(train)
    cold, curve = trainer.settings.cold_start, []
    for step in range(cold + updates + 1):
        row = trainer.step(pool) if step else {}
        if step in (0, cold + updates) or (step >= cold and (step - cold) % options.every == 0):
            curve.append((step, trainer.hits(tests["plain"])))
            print(f"{arm} {seed}: {step} {curve[-1][1] / TESTED:.3f}", file=sys.stderr, flush=True)
    return {
        "arm": arm,
        "seed": seed,
        "updates": updates,
        "cold": cold,
        "counts": counts,
        "of": TESTED,
        "curve": curve,
        "hits": {style: trainer.hits(test) for style, test in tests.items()},
        "entropy": row["entropy"],
        "settings": str(trainer.settings),
        "seconds": round(time.perf_counter() - started, 1),
    }


def run_all(arms: list[str], seeds: list[int], options: argparse.Namespace) -> list[dict[str, Any]]:
    def run_pair(pair: tuple[str, int]) -> list[dict[str, Any]]:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            command = [sys.executable, "-m", "benchmarks.click_grounder", "--arm", pair[0]]
            command += ["--seed", str(pair[1]), "--out", file.name]
            command += [f"--{name}={getattr(options, name)}" for name in WAYS]
            command += [f"--style={style}" for style in options.styles]
            if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
                print(f"{pair}: FAILED, no result", file=sys.stderr)
                return []
            return list(json.loads(Path(file.name).read_text()))

    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(options.jobs) as threads:
        for result in threads.map(run_pair, [(arm, seed) for seed in seeds for arm in arms]):
            rows += result
            if options.out:  # it stays, whatever ends this
                options.out.write_text(json.dumps(rows))
    return rows


def tables(rows: list[dict[str, Any]]) -> None:
    print("arm | seed | random | cold start | end, held-out pages | square | dusk | entropy | s")
    for arm in ARMS:
        own = [row for row in rows if row["arm"] == arm]
        for row in sorted(own, key=lambda row: row["seed"]):
            cold = dict(row["curve"])[row["cold"]] / row["of"] if row["cold"] else math.nan
            ends = " | ".join(rate(row["hits"][style], row["of"]) for style in pages.STYLES)
            start = f"{arm} | {row['seed']} | {row['curve'][0][1] / row['of']:.3f} | {cold:.3f}"
            print(f"{start} | {ends} | {row['entropy']:.2f} | {row['seconds']:.0f}")
        if own:
            hits, of = sum(row["hits"]["plain"] for row in own), sum(row["of"] for row in own)
            print(f"{arm} | all {len(own)} | | | {rate(hits, of)}, {own[0]['updates']} updates")
            print(f"  boxes: {', '.join(str(row['counts']) for row in own)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arm", action="append", choices=list(ARMS))
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--updates", type=int, default=1400)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--style", action="append", dest="styles", choices=list(pages.STYLES))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.styles, options.every = options.styles or ["plain"], max(200, options.updates // 10)
    arms, seeds = options.arm or list(ARMS), options.seed or [0, 1, 2]
    if len(arms) == len(seeds) == 1:
        rows = [run(arms[0], seeds[0], options)]
    else:
        rows = run_all(arms, seeds, options)
    if options.out:
        options.out.write_text(json.dumps(rows))
    tables(rows)


if __name__ == "__main__":
    main()
