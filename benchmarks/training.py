"""Training on pages of MiniWoB++: cloning, step-level GRPO, Entropulse, on instances held out.

    python -m benchmarks.training run --part pages --seeds 1 2 3 --out DIR
    python -m benchmarks.training run --part collapse --seeds 1 2 3 --out DIR
    python -m benchmarks.training tables --out DIR

*pages*: a policy is cloned from 6 demonstrations of each of three pages, trained by GRPO on these
and nine others, gets a supervised phase, and goes on (the five rows of ComputerRL's table 3).
*collapse*: GRPO from scratch at a rate that makes the policy too sure of itself; from that same
checkpoint three arms go on: Entropulse, the control (reference reset alone), a higher upper clip.

Instances from 1,000,000 on are in no training: of pages that were trained on they are the kept-out
templates, of the others the kept-out pages. Each checkpoint plays the same ones, greedily once by
real input, and three times sampled. Each run is one process and writes DIR/PART-SEED.json; one that
is there is not run again, and one that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.plugins.benchmarks.bench.stats import wilson

if TYPE_CHECKING:
    from hisa.plugins.training.base import Policy
    from hisa.plugins.training.page_rollouts import PageRollouts
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.step_training import GrpoSettings

# Fixed before the first run.
DEMONSTRATED = ("click-button", "click-checkboxes", "enter-text")
ONE_CLICK = ("click-link", "click-test-2", "click-dialog", "click-widget", "click-tab")
TWO_STEPS = ("click-option", "click-button-sequence", "enter-text-dynamic")
CANARY = ("focus-text-2",)  # "the 2nd textbox": this network cannot count, so 1.0 would be a leak
KEPT_OUT = ("click-dialog-2", "click-test", "click-tab-2", "focus-text", "enter-password",
            "login-user")  # fmt: skip
TRAINED = DEMONSTRATED + ONE_CLICK + TWO_STEPS + CANARY
COLLAPSING = ("click-link", "click-test-2", "click-button", "click-dialog", "click-checkboxes",
              "click-option")  # fmt: skip
HELD_OUT, INSTANCES, DRAWS = 1_000_000, 40, 3
DEMONSTRATIONS = 6
ARMS = ("pulse", "control", "higher-clip")
BASES = {
    "cloned": "untrained", "RL 1": "cloned", "Entropulse": "RL 1", "RL 2": "RL 1",
    "RL 2, control": "RL 1",
    **{f"{arm}, {end}": "collapsed" for arm in ARMS for end in ("phase", "end")},
}  # fmt: skip
"""The stage that each is compared with."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command and do it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train and play; some minutes a seed and part")
    run.add_argument("--part", choices=("pages", "collapse"), action="append")
    run.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    run.add_argument("--updates", type=int, default=60, help="of GRPO before the phase")
    run.add_argument("--more", type=int, default=30, help="updates after it")
    run.add_argument("--jobs", type=int, default=2, help="runs at once")
    tables = commands.add_parser("tables", help="print what DIR holds")
    for command in (run, tables):
        command.add_argument("--out", type=Path, required=True)
    one = commands.add_parser("one")
    one.add_argument("values")
    options = parser.parse_args(arguments)
    if options.command == "one":
        part, seed, updates, more, out = json.loads(options.values)
        _one(part, seed, updates, more, Path(out))
    elif options.command == "run":
        parts = options.part or ["pages", "collapse"]
        _run([(part, seed, options.updates, options.more, str(options.out))
              for part in parts for seed in options.seeds], options.jobs)  # fmt: skip
        _tables(options.out)
    else:
        _tables(options.out)


def _run(runs: list[tuple[Any, ...]], jobs: int) -> None:
    working: list[subprocess.Popen[bytes]] = []
    waiting = [run for run in runs if not Path(run[-1], f"{run[0]}-{run[1]}.json").exists()]
    try:
        while waiting or working:
            while waiting and len(working) < jobs:
                command = [sys.executable, "-m", "benchmarks.training", "one"]
                working.append(subprocess.Popen([*command, json.dumps(waiting.pop(0))]))
            time.sleep(0.5)
            working = [process for process in working if process.poll() is None]
    finally:
        for process in working:
            process.terminate()


def _one(part: str, seed: int, updates: int, more: int, out: Path) -> None:
    import torch

    from hisa.plugins.training.page_rollouts import PageRollouts

    torch.set_num_threads(1)
    pages = TRAINED + KEPT_OUT if part == "pages" else COLLAPSING
    training, real = PageRollouts(pages), PageRollouts(pages, real_input=True, slots=8)
    began = time.monotonic()
    play = _Play(seed, training, real)
    try:
        extra = (_pages if part == "pages" else _collapse)(play, out, updates, more)
    finally:
        training.close()
        real.close()
    result = {"part": part, "seed": seed, "seconds": time.monotonic() - began, **extra}
    (out / f"{part}-{seed}.json").write_text(json.dumps({**result, "rows": play.rows}))


class _Play:
    """Plays held-out instances with checkpoints and keeps a row for each episode."""

    def __init__(self, seed: int, training: PageRollouts, real: PageRollouts) -> None:
        self.seed, self.training, self.real = seed, training, real
        self.rows: list[dict[str, Any]] = []

    def all(self, stage: str, policy: PointerPolicy, pages: Iterable[str]) -> None:
        """Play all instances of the pages, greedily and sampled."""
        policy.reseed(self.seed)
        self._some(stage, "greedy", self.real, policy, pages, 1)
        self._some(stage, "sampled", self.training, policy, pages, DRAWS)

    def oracle(self, pages: Iterable[str]) -> None:
        """Play them by rules: the best that is possible."""
        from hisa.plugins.training.page_oracles import PageOracle

        self._some("oracle", "greedy", self.real, PageOracle(), pages, 1)

    def _some(
        self, stage: str, mode: str, source: PageRollouts, policy: Policy, pages: Iterable[str],
        draws: int,
    ) -> None:  # fmt: skip
        from hisa.plugins.training.episodes import Draw

        print(f"{self.seed}: {stage}, {mode}", file=sys.stderr, flush=True)
        wanted = [
            Draw(page, HELD_OUT + number, member=member)
            for page in pages for number in range(INSTANCES) for member in range(draws)
        ]  # fmt: skip
        for episode in source.play(wanted, policy, greedy=mode == "greedy"):
            self.rows.append({
                "stage": stage, "mode": mode, "page": episode.draw.task,
                "instance": episode.draw.seed, "draw": episode.draw.member,
                "solved": episode.solved if episode.is_sample else None,
                "truncated": episode.truncated, "turns": len(episode.samples),
                "entropy": _mean([sample.entropy for sample in episode.samples]),
            })  # fmt: skip


def _pages(play: _Play, out: Path, updates: int, more: int) -> dict[str, Any]:
    from hisa.plugins.training.cloning import CloningSettings, clone
    from hisa.plugins.training.page_oracles import demonstrations
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.step_training import GrpoSettings

    every = TRAINED + KEPT_OUT
    policy = PointerPolicy.fresh(play.seed)
    play.oracle(every)
    play.all("untrained", policy, every)
    seeds = range(500_000 + 1_000 * play.seed, 501_000 + 1_000 * play.seed)
    shown = demonstrations(play.training, DEMONSTRATED, DEMONSTRATIONS, seeds)
    samples = [sample for episode in shown for sample in episode.samples]
    clone(policy, samples, CloningSettings(seed=play.seed))
    play.all("cloned", policy, every)
    settings = GrpoSettings(updates=updates, seed=play.seed, evaluate_every=10)
    first = out / f"pages-{play.seed}"
    play.all("RL 1", _train(play, first, policy, TRAINED, settings), every)
    for arm in ("pulse", "control"):
        folder = _continued(first, out / f"pages-{play.seed}-{arm}")
        after = replace(settings, updates=updates + 1, pulse_at=updates + 1, arm=arm)
        phase = _train(play, folder, policy, TRAINED, after)
        if arm == "pulse":
            play.all("Entropulse", phase, every)
        end = _train(play, folder, policy, TRAINED, replace(after, updates=updates + 1 + more))
        play.all("RL 2" if arm == "pulse" else "RL 2, control", end, every)
    return {"demonstrated steps": len(samples), "settings": asdict(settings)}


def _collapse(play: _Play, out: Path, updates: int, more: int) -> dict[str, Any]:
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.step_training import GrpoSettings

    policy = PointerPolicy.fresh(play.seed)
    collapse = GrpoSettings(updates=updates, lr=1e-3, seed=play.seed, evaluate_every=10)
    first = out / f"collapse-{play.seed}"
    play.all("collapsed", _train(play, first, policy, COLLAPSING, collapse), COLLAPSING)
    for arm in ARMS:
        folder = _continued(first, out / f"collapse-{play.seed}-{arm}")
        after = replace(collapse, updates=updates + 1, pulse_at=updates + 1, lr=2e-4, arm=arm)
        phase = _train(play, folder, policy, COLLAPSING, after)
        play.all(f"{arm}, phase", phase, COLLAPSING)
        end = _train(play, folder, policy, COLLAPSING, replace(after, updates=updates + 1 + more))
        play.all(f"{arm}, end", end, COLLAPSING)
    return {"settings": asdict(collapse)}


def _train(
    play: _Play, folder: Path, policy: PointerPolicy, pages: Sequence[str], settings: GrpoSettings
) -> PointerPolicy:
    """The policy at the end of the settings, from the policy or what the folder has by now."""
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.step_training import StepTraining
    from hisa.plugins.training.training_folder import TrainingFolder

    resume = (folder / "settings.json").exists()
    place = TrainingFolder(folder, asdict(settings), resume=resume)
    try:
        training = StepTraining(place, policy, play.training, pages, settings, _progress(folder))
        training.run()
        return PointerPolicy.load(place.checkpoint(f"{settings.updates:05d}"))
    finally:
        place.close()


def _progress(folder: Path) -> Callable[[Any], None]:
    def after_update(row: Any) -> None:
        reward = "-" if row.reward is None else f"{row.reward:.2f}"
        greedy = "" if row.greedy is None else f", greedy {row.greedy:.2f}"
        entropy = "-" if row.entropy is None else f"{row.entropy:.2f}"
        line = f"{folder.name}: update {row.update}, reward {reward}, entropy {entropy}{greedy}"
        print(line, file=sys.stderr, flush=True)

    return after_update


def _continued(first: Path, folder: Path) -> Path:
    """A copy of a run's folder, for an arm to go on in; what is there already is kept."""
    if not folder.exists():
        half = folder.with_name(f"{folder.name}.half")
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(first, half, ignore=shutil.ignore_patterns(".lock"))
        half.rename(folder)
    return folder


def _tables(out: Path) -> None:
    results = [json.loads(path.read_text()) for path in sorted(out.glob("*-*.json"))]
    for part in ("pages", "collapse"):
        runs = [result for result in results if result["part"] == part]
        if not runs:
            continue
        seeds = ", ".join(str(run["seed"]) for run in runs)
        hours = sum(run["seconds"] for run in runs) / 3600
        print(f"\n{part}: seeds {seeds}; {hours:.2f} hours of runs; {INSTANCES} instances a page")
        stages = list(dict.fromkeys(row["stage"] for run in runs for row in run["rows"]))
        if part == "pages":
            _by_page(runs, [stage for stage in stages if stage != "oracle"])
        _by_stage(runs, stages)


def _by_page(runs: list[dict[str, Any]], stages: list[str]) -> None:
    """Greedy success of each page at each stage."""
    print(f"\n| page | is | best possible | {' | '.join(stages)} | RL 1 sampled | turns |")
    print("|---|---|---|" + "---|" * (len(stages) + 2))
    groups = {
        "demonstrated": DEMONSTRATED, "one click": ONE_CLICK, "two steps": TWO_STEPS,
        "canary": CANARY, "kept out": KEPT_OUT,
    }  # fmt: skip
    for kind, pages in groups.items():
        for page in pages:
            cells = [_share(_rows(runs, stage, "greedy", [page])) for stage in ["oracle", *stages]]
            sampled = _rows(runs, "RL 1", "sampled", [page])
            turns = _mean([row["turns"] for row in sampled])
            print(f"| {page} | {kind} | {' | '.join(cells)} | {_share(sampled)} | {turns:.1f} |")


def _by_stage(runs: list[dict[str, Any]], stages: list[str]) -> None:
    """Means over pages at each stage, with the paired difference to the stage before."""
    held = [*TRAINED] if runs[0]["part"] == "pages" else [*COLLAPSING]
    sets = {"kept-out templates": held}
    if runs[0]["part"] == "pages":
        sets["kept-out pages"] = [*KEPT_OUT]
    for name, pages in sets.items():
        print(f"\n| {name} | greedy | greedy, in pairs with an earlier stage | sampled | truncated "
              "| turns | entropy |\n|---|---|---|---|---|---|---|")  # fmt: skip
        for stage in stages:
            greedy, sampled = (_rows(runs, stage, mode, pages) for mode in ("greedy", "sampled"))
            paired = _paired(runs, BASES[stage], stage, pages) if stage in BASES else ""
            print(f"| {stage} | {_share(greedy)} | {paired} | {_share(sampled)} "
                  f"| {_mean([row['truncated'] for row in sampled]):.0%} "
                  f"| {_mean([row['turns'] for row in sampled]):.1f} "
                  f"| {_mean([row['entropy'] for row in sampled]):.2f} |")  # fmt: skip


def _paired(runs: list[dict[str, Any]], before: str, stage: str, pages: list[str]) -> str:
    from hisa.plugins.training.curve_metrics import paired_difference

    sides = [
        {
            (row["page"], run["seed"] * 10_000_000 + row["instance"]): float(row["solved"])
            for run in runs for row in _rows([run], at, "greedy", pages)
        }
        for at in (stage, before)
    ]  # fmt: skip
    gap = paired_difference(sides[0], sides[1])
    return f"{gap.difference:+.2f} ({gap.low:+.2f} to {gap.high:+.2f}) on {before}" if gap else "-"


def _rows(
    runs: list[dict[str, Any]], stage: str, mode: str, pages: Sequence[str]
) -> list[dict[str, Any]]:
    return [
        row for run in runs for row in run["rows"]
        if (row["stage"], row["mode"]) == (stage, mode)
        and row["page"] in pages and row["solved"] is not None
    ]  # fmt: skip


def _share(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "-"
    solved = sum(row["solved"] for row in rows)
    low, high = wilson(solved, len(rows))
    return f"{solved / len(rows):.2f} ({low:.2f} to {high:.2f}), {len(rows)}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


if __name__ == "__main__":
    main()
