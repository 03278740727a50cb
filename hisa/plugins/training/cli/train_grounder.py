"""``hisa train grounder``: a small network that points, by GTA1's cleaning, cold start and GRPO."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from hisa.cli.out import examples, say, say_error
from hisa.errors import UsageError
from hisa.plugins.training import box_cleaning as cleaning
from hisa.plugins.training import widget_pages as pages
from hisa.plugins.training.curves import MetricsRow
from hisa.plugins.training.recorded_targets import recorded_targets

__all__ = ["grounder"]

_EXAMPLES = examples(
    "hisa train grounder -o pointing",
    "hisa train grounder -o pointing --resume --updates 3000",
    "hisa train grounder --data runs --clean 0.3 -o screens",
    "hisa bench grounding benchmarks/grounding --grounder vision "
    "--set models.grounder.model=pixels:pointing/checkpoints/last.safetensors",
)
_COUNT = click.IntRange(0, 1_000_000)
_EVERY = 50
"""Steps between two checkpoints: some seconds."""
_PAGES = 2048
"""Pages drawn for training, with 8,000 targets: a second' work."""


@click.command("grounder", epilog=_EXAMPLES)
@click.option("--data", default="widgets", metavar="widgets|DIR", help="Drawn pages, or runs.")
@click.option("--clean", type=click.FloatRange(0, 1), metavar="IOU", help="As in the paper: 0.3.")
@click.option(
    "--reward", type=click.Choice(["click", "click+iou", "click+format", "all"]), default="click"
)
@click.option("--cold-start", type=_COUNT, default=100, metavar="STEPS", help="Supervised (100).")
@click.option("--updates", type=_COUNT, metavar="N", help="Of GRPO (1400).")
@click.option("--seed", type=click.IntRange(0, 200), default=0, help="Of all that is drawn (0).")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR")
@click.option("--resume", is_flag=True, help="Go on in DIR, but for --updates.")
def grounder(output: Path, *, resume: bool, **how: Any) -> None:
    """Train a network of 83,000 weights to click what a description means.

    DIR gets settings.json, metrics.jsonl, checkpoints/last.safetensors and, with --clean,
    dropped.png, a sheet of what went. All is written every 50 steps.

    Of drawn pages --clean detects what stands out from their ground, of a run's screen the elements
    of other looks that show the same. Neither knows the annotation. What it saw nothing of is not
    judged: that stays, and is counted.

    Runs give the named elements of their looks, of which every tenth is held out. Without a cold
    start an entropy bonus of 0.03 is added, or the network collapses on one place. It sees a screen
    as 80x64 pixels: on real ones it does not replace HiSA's own grounder.
    """
    import torch

    from hisa.plugins.training.grounder import ClickSettings, ClickTrainer, Pool
    from hisa.plugins.training.training_folder import TrainingFolder, read_settings

    torch.set_num_threads(1)  # more wait for each other: the network is small
    kept = read_settings(output) if resume else how | {"updates": 1400}
    updates = how["updates"]
    how = kept | {"updates": kept["updates"] if updates is None else updates}
    own = {name: how[name] for name in ("reward", "cold_start", "seed")}
    settings = ClickSettings(**own)
    if not settings.cold_start:
        settings = replace(settings, entropy_bonus=0.03, rate=1e-3)
    trainer = ClickTrainer(settings)
    folder = TrainingFolder(output, how, resume=resume)
    try:
        train, held = _data(how)
        pools = {name: Pool(targets) for name, targets in held.items()}
        train_on = Pool(_cleaned(train, how, output))
        _steps(trainer, train_on, pools.get("tuning"), folder, how)
    except KeyboardInterrupt:
        say_error(f"stopped; go on: hisa train grounder -o {output} --resume")
        raise
    finally:
        folder.close()
    for name, pool in pools.items():
        say(f"{name}: {trainer.hits(pool)} of {len(pool)} clicked rightly")
    say(folder.checkpoint("last"))


def _data(how: dict[str, Any]) -> tuple[list[pages.Target], dict[str, list[pages.Target]]]:
    """Targets for training and, by name, held out."""
    if how["data"] == "widgets":
        first, tuning, held_out = how["seed"] * _PAGES, pages.TUNING_SEEDS, pages.HELD_OUT_SEEDS
        held = {"tuning": list(pages.targets(range(tuning, tuning + 300), every=False))}
        for style in pages.STYLES:
            seeds = range(held_out, held_out + 500)
            held[f"held-out pages, {style}"] = list(pages.targets(seeds, style, every=False))
        return list(pages.targets(range(first, first + _PAGES))), held
    recorded = recorded_targets(Path(how["data"]))
    looks = [list(look) for _, look in groupby(recorded, lambda target: id(target.picture))]
    if not looks:
        raise UsageError(f"--data {how['data']}: no look has a named element", fix="--data widgets")
    kept_out = [target for look in looks[9::10] for target in look]
    del looks[9::10]
    return [target for look in looks for target in look], {"tuning": kept_out} if kept_out else {}


def _cleaned(targets: list[pages.Target], how: dict[str, Any], output: Path) -> list[pages.Target]:
    if how["clean"] is None:
        return targets
    detect: cleaning.Detector = cleaning.drawn
    if how["data"] != "widgets":
        detect = cleaning.OtherLooks(targets)
    result = cleaning.clean(targets, detect, how["clean"])
    say_error(result)
    if result.dropped:
        cleaning.contact_sheet(result.dropped).save(output / "dropped.png")
    if not result.kept:
        raise UsageError(f"--clean {how['clean']} leaves nothing", fix="--clean 0.1")
    return result.kept


def _steps(trainer: Any, pool: Any, tuning: Any, folder: Any, how: dict[str, Any]) -> None:
    """Do the steps that are left."""
    end, rows = how["cold_start"] + how["updates"], []
    folder.restore(trainer, trainer.optimizer)
    while trainer.version < end:
        rows.append(MetricsRow(version=trainer.version + 1, **trainer.step(pool)))
        if trainer.version % _EVERY == 0 or trainer.version == end:
            if tuning is not None:
                rows[-1].greedy_n = len(tuning)
                rows[-1].greedy = trainer.hits(tuning) / len(tuning)
            folder.write(trainer.version, trainer, trainer.optimizer, rows=rows)
            right = "" if rows[-1].greedy is None else f": {rows[-1].greedy:.2f} right"
            say_error(f"{rows[-1].phase} {trainer.version} of {end}{right}")
            rows = []
