"""GTA1's grounder on a small net: cold start, click-reward GRPO, table 6's arms, cleaning.

    python -m benchmarks.click_grounder --jobs 2 --out clicks.json
    python -m benchmarks.click_grounder --arm click --seed 0 --updates 200
    python -m benchmarks.click_grounder --merge first.json second.json

Each arm of each seed is a process with one thread. It draws pages of its own seed once, trains, and
is tested greedily on the same held-out pages before, after the cold start and at the end; accuracy
is the share of pages on which the likeliest reply clicks into the true box. Needs torch, numpy,
Pillow and nothing else beside the standard library.
"""

from __future__ import annotations

import argparse
import json
import math
import os
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

from hisa.plugins.training import widget_pages as pages
from hisa.plugins.training.box_cleaning import clean
from hisa.plugins.training.box_detectors import drawn_boxes

PAGES, TESTED = 4096, 1000
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


def planted(targets: Iterable[pages.Target], share: float, seed: int) -> Iterator[pages.Target]:
    """Some of the boxes lie elsewhere on the page, clear of the thing that they were around."""
    random_ = random.Random(f"planted {seed}")
    for target in targets:
        if random_.random() < share:
            width, height = target.box.right - target.box.left, target.box.bottom - target.box.top
            box = target.box
            while pages.overlap(box, target.box):
                x = random_.uniform(0, pages.WIDTH - 1 - width)
                y = random_.uniform(0, pages.HEIGHT - 1 - height)
                box = pages.Box(x, y, x + width, y + height)
            target = replace(target, box=box, place=f"planted {target.place}")
        yield target


def run(arm: str, seed: int, updates: int, device: str) -> dict[str, Any]:
    """One arm with one seed."""
    import torch

    from hisa.plugins.training.click_training import ClickSettings, ClickTrainer, Pool

    torch.set_num_threads(1)
    started, how = time.perf_counter(), dict(ARMS[arm])
    share, cleaned = how.pop("planted", 0.0), how.pop("clean", False)
    first = seed * PAGES
    train = list(planted(pages.targets(range(first, first + PAGES)), share, seed))
    counts = {"drawn": len(train), "planted": sum("planted" in t.place for t in train)}
    if cleaned:
        result = clean(train, drawn_boxes)
        train = result.kept
        right = sum("planted" not in drop.target.place for drop in result.dropped)
        counts |= {"dropped": len(result.dropped), "right dropped": right}
    counts["bad left"] = sum("planted" in t.place for t in train)
    held_out = range(pages.HELD_OUT_SEEDS, pages.HELD_OUT_SEEDS + TESTED)
    tests = {
        style: Pool(list(pages.targets(held_out, style, every=False)), device)
        for style in pages.STYLES
    }
    trainer, pool = ClickTrainer(ClickSettings(seed=seed, **how), device), Pool(train, device)
    cold, curve = trainer.settings.cold_start, []
    ready = time.perf_counter()
    curve.append((0, trainer.hits(tests["plain"])))
    for step in range(1, cold + updates + 1):
        row = trainer.step(pool)
        if step == cold or (step - cold) % 200 == 0 or step == cold + updates:
            curve.append((step, trainer.hits(tests["plain"])))
            print(f"{arm} {seed}: {step} {curve[-1][1] / TESTED:.3f}", file=sys.stderr, flush=True)
    return {
        "arm": arm, "seed": seed, "updates": updates, "cold": cold, "counts": counts, "of": TESTED,
        "curve": curve, "hits": {style: trainer.hits(test) for style, test in tests.items()},
        "entropy": row["entropy"], "settings": str(trainer.settings), "device": device,
        "render_s": round(ready - started, 1), "seconds": round(time.perf_counter() - started, 1),
        "torch": torch.__version__,
    }  # fmt: skip


def run_all(arms: list[str], seeds: list[int], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every arm with every seed, each in a process; what fails is said and left out."""

    def one(pair: tuple[str, int]) -> list[dict[str, Any]]:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            command = [sys.executable, "-m", "benchmarks.click_grounder", "--arm", pair[0]]
            command += ["--seed", str(pair[1]), "--updates", str(options.updates)]
            command += ["--device", options.device, "--out", file.name, "--here"]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            if subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode:
                print(f"{pair}: FAILED, no result", file=sys.stderr)
                return []
            return list(json.loads(Path(file.name).read_text()))

    pairs = [(arm, seed) for seed in seeds for arm in arms]
    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(options.jobs) as threads:
        for result in threads.map(one, pairs):
            rows += result
            if options.out:  # what is done stays, whatever ends this
                options.out.write_text(json.dumps(rows))
    return rows


def share(hits: int, of: int) -> str:
    """A share with Wilson's 95% interval."""
    rate, z = hits / of, 1.959964
    centre, half = rate + z * z / of / 2, z * math.sqrt(rate * (1 - rate) / of + (z / of) ** 2 / 4)
    low, high = ((centre + sign * half) / (1 + z * z / of) for sign in (-1, 1))
    return f"{rate:.3f} [{low:.3f}, {high:.3f}]"


def tables(rows: list[dict[str, Any]]) -> None:
    """One line for each arm and seed, and one for each arm over its seeds."""
    print("arm | seed | random | cold start | end, held-out pages | square | dusk | entropy | s")
    for arm in ARMS:
        own = [row for row in rows if row["arm"] == arm]
        for row in sorted(own, key=lambda row: row["seed"]):
            cold = dict(row["curve"])[row["cold"]] / row["of"] if row["cold"] else math.nan
            ends = " | ".join(share(row["hits"][style], row["of"]) for style in pages.STYLES)
            start = f"{arm} | {row['seed']} | {row['curve'][0][1] / row['of']:.3f} | {cold:.3f}"
            print(f"{start} | {ends} | {row['entropy']:.2f} | {row['seconds']:.0f}")
        if own:
            hits, of = sum(row["hits"]["plain"] for row in own), sum(row["of"] for row in own)
            seeds = [row["hits"]["plain"] / row["of"] for row in own]
            wide = f"seeds {min(seeds):.3f} to {max(seeds):.3f}; {own[0]['updates']} updates"
            print(f"{arm} | all {len(own)} | | | {share(hits, of)} | {wide}")
            print(f"  boxes: {', '.join(str(row['counts']) for row in own[:3])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arm", action="append", choices=list(ARMS))
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--updates", type=int, default=1400)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--merge", nargs="+", type=Path, help="print tables of result files")
    parser.add_argument("--here", action="store_true", help="run in this process")
    options = parser.parse_args()
    arms, seeds = options.arm or list(ARMS), options.seed or [0, 1, 2]
    if options.merge:
        rows = [row for path in options.merge for row in json.loads(path.read_text())]
    elif options.here:
        rows = [run(arm, seed, options.updates, options.device) for arm in arms for seed in seeds]
    else:
        rows = run_all(arms, seeds, options)
    if options.out:
        options.out.write_text(json.dumps(rows))
    tables(rows)


if __name__ == "__main__":
    main()
