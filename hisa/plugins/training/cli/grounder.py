"""``hisa train grounder``: a small network that points, by GTA1's cleaning, cold start and GRPO."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, say, say_error
from hisa.errors import UsageError
from hisa.machine.storage import Lock, replace_file

if TYPE_CHECKING:
    from hisa.plugins.training.box_cleaning import Detector
    from hisa.plugins.training.click_training import ClickTrainer, Pool
    from hisa.plugins.training.widget_pages import Target

__all__ = ["grounder"]

_EXAMPLES = examples(
    "hisa train grounder -o pointing",
    "hisa train grounder -o pointing --resume --updates 3000",
    "hisa train grounder --data runs --clean 0.3 --detector accessible -o pointing",
    "hisa train grounder --planted 0.2 --clean 0.3 --reward click+iou -o arm",
    "hisa bench grounding benchmarks/grounding --grounder vision --set grounder.format=unit "
    "--set models.grounder.model=pixels:pointing/grounder.safetensors",
)
_EVERY = 50
"""Steps between two checkpoints: some seconds."""
_PAGES = 4096
"""Pages drawn for a pool, 16,000 targets: two seconds' work."""
_COUNT = click.IntRange(0, 1_000_000)
_SHARE = click.FloatRange(0, 1)


@click.command("grounder", epilog=_EXAMPLES)
@click.option("--data", default="widgets", metavar="widgets|DIR", help="Drawn pages, or runs.")
@click.option("--clean", type=_SHARE, metavar="IOU", help="Drop boxes unlike all detected (0.3).")
@click.option("--detector", default="drawn", metavar="WAY", help="drawn, accessible, or a URL.")
@click.option("--planted", type=_SHARE, default=0.0, help="Share of boxes made wrong on purpose.")
@click.option(
    "--reward", type=click.Choice(["click", "click+iou", "click+format", "all"]), default="click",
    help="Parts of the reward (click).",
)  # fmt: skip
@click.option("--cold-start", type=_COUNT, default=100, metavar="STEPS", help="Supervised (100).")
@click.option("--updates", type=_COUNT, default=1400, metavar="N", help="Of GRPO (1400).")
@click.option("--entropy-bonus", type=_SHARE, default=0.0, help="0.03 without a cold start (0).")
@click.option("--rate", type=click.FloatRange(0, 1), default=3e-4, help="Of GRPO (0.0003).")
@click.option("--seed", type=click.IntRange(0, 800_000), default=0, help="Of all that is drawn.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR")
@click.option("--resume", is_flag=True, help="Go on in DIR as it was set up; --updates may rise.")
@click.pass_context
def grounder(ctx: click.Context, /, output: Path, *, resume: bool, **how: Any) -> None:
    """Train a network of 83,000 weights to click what a description means.

    DIR gets grounder.safetensors, metrics.jsonl for "hisa train report", settings.json, and
    dropped.png, a sheet of what the cleaning dropped. It is written every 50 steps, so that Ctrl-C
    and kill lose no more.

    Runs give the named elements of their looks; of a grounding suite the screens for training are
    taken. Every tenth look is held out. The detector "accessible" is no test of boxes that are
    accessibility's own. A screen is brought to 80x64 pixels: little of a real one can be told
    then, and what comes of it does not replace HiSA's own grounder.
    """
    output.mkdir(parents=True, exist_ok=True)
    lock = Lock.take(output / ".lock")
    if lock is None:
        raise UsageError(f"{output}: process {Lock.holder(output / '.lock')} is training there")
    try:
        _train(output, _settled(ctx, output, how, resume=resume), resume=resume)
    finally:
        lock.release()


def _settled(ctx: click.Context, output: Path, how: dict[str, Any], *, resume: bool) -> Any:
    """The settings of this training, kept in its folder."""
    path = output / "settings.json"
    if path.exists() and not resume:
        raise UsageError(f"{output}: holds a training", fix="--resume, or another -o DIR")
    if resume:
        try:
            kept = {**how, **json.loads(path.read_bytes())}
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"{path}: {error}", fix="leave out --resume") from error
        given = {
            name
            for name in how
            if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        }
        if changed := sorted(name for name in given - {"updates"} if how[name] != kept[name]):
            raise UsageError(f"--resume changes {', '.join(changed)}", fix="another -o DIR")
        how = kept | ({"updates": how["updates"]} if "updates" in given else {})
    replace_file(path, json.dumps(how, indent=1).encode())
    return how


def _train(output: Path, how: dict[str, Any], *, resume: bool) -> None:
    from hisa.plugins.training.click_training import ClickSettings, ClickTrainer, Pool

    train, held = _data(how)
    train = _cleaned(train, how, output)
    settings = ClickSettings(
        reward=how["reward"], rate=how["rate"], entropy_bonus=how["entropy_bonus"], seed=how["seed"]
    )
    trainer = ClickTrainer(settings)
    if resume:
        _restore(trainer, output, how)
    pools = {name: Pool(targets) for name, targets in held.items() if targets}
    if _steps(trainer, Pool(train), pools.get("tuning"), output, how):
        say_error(f"stopped after {trainer.done}; go on: hisa train grounder -o {output} --resume")
    for name, pool in pools.items():
        say(f"{name}: {trainer.hits(pool)} of {len(pool)} clicked rightly")
    say(output / "grounder.safetensors")


def _data(how: dict[str, Any]) -> tuple[list[Target], dict[str, list[Target]]]:
    """Targets for training and, by name, held out."""
    from hisa.plugins.training import widget_pages as pages

    if how["data"] == "widgets":
        first = how["seed"] * _PAGES % pages.TUNING_SEEDS
        seeds = [seed % pages.TUNING_SEEDS for seed in range(first, first + _PAGES)]
        train = list(pages.plant(pages.targets(seeds), how["planted"], how["seed"]))
        held = {"tuning": list(pages.targets(range(pages.TUNING_SEEDS, pages.TUNING_SEEDS + 300)))}
        kept_out = range(pages.HELD_OUT_SEEDS, pages.HELD_OUT_SEEDS + 500)
        for style in pages.STYLES:
            held[f"held-out pages, {style}"] = list(pages.targets(kept_out, style, every=False))
        return train, held
    from hisa.plugins.training.recorded_targets import recorded_targets

    if how["planted"]:
        raise UsageError("--planted is for --data widgets", fix="leave out --planted")
    looks: dict[int, list[Target]] = {}
    for target in recorded_targets(Path(how["data"])):
        looks.setdefault(id(target.picture), []).append(target)
    sets = list(looks.values())
    out = [target for look in sets[9::10] for target in look]
    train = [target for number, look in enumerate(sets) if number % 10 != 9 for target in look]
    if not train:
        raise UsageError(f"--data {how['data']}: no named element on any look")
    say_error(f"{len(train)} targets on {len(sets) - len(sets[9::10])} looks")
    return train, {"tuning": out}


def _cleaned(train: Sequence[Target], how: dict[str, Any], output: Path) -> Sequence[Target]:
    from hisa.plugins.training.box_cleaning import clean, contact_sheet

    if how["clean"] is None:
        return train
    result = clean(train, _detector(how["detector"]), how["clean"])
    say_error(", ".join(f"{name} {count}" for name, count in result.counts.items()))
    if result.dropped:
        contact_sheet(result.dropped).save(output / "dropped.png")
    if not result.kept:
        raise UsageError(f"--clean {how['clean']}: nothing is left", fix="--clean 0.1")
    return result.kept


def _detector(name: str) -> Detector:
    from hisa.plugins.training import box_detectors as detectors

    own = {"drawn": detectors.drawn_boxes, "accessible": detectors.accessible_boxes}
    return own.get(name) or detectors.OmniParserEndpoint(name)


def _restore(trainer: ClickTrainer, output: Path, how: dict[str, Any]) -> None:
    """Bring a trainer to where the folder's checkpoint is, and cut what was written after it."""
    from hisa.plugins.training import checkpoints
    from hisa.plugins.training.pixel_grounder import load_network

    path = output / "grounder.safetensors"
    if not path.exists():
        return
    network, header, moments = load_network(checkpoints.read(path), str(path))
    try:
        trainer.restore(network, moments, header.version, cold=header.version <= how["cold_start"])
    except (KeyError, ValueError) as error:
        raise header.refused(f"nothing to go on from: {error!r:.100}") from error
    lines = (output / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    replace_file(output / "metrics.jsonl", lines[: trainer.done])


def _steps(
    trainer: ClickTrainer, pool: Pool, tuning: Pool | None, output: Path, how: dict[str, Any]
) -> bool:
    """Do the steps that are left; returns whether Ctrl-C ended them, after a whole one."""
    from rich.console import Console
    from rich.progress import Progress

    end, rows = how["cold_start"] + how["updates"], []
    with _interrupts() as pressed, Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=end, completed=trainer.done)
        while trainer.done < end and not pressed:
            row = (trainer.clone if trainer.done < how["cold_start"] else trainer.update)(pool)
            last = trainer.done == end or bool(pressed)
            if (last or trainer.done % _EVERY == 0) and tuning is not None:
                row |= {"greedy": trainer.hits(tuning) / len(tuning), "greedy_n": len(tuning)}
                bar.update(task, description=f"{row['phase']}: {row['greedy']:.2f} right")
            rows.append({"format": 1, "version": trainer.done, **row})
            if last or pressed or trainer.done % _EVERY == 0:
                _keep(trainer, rows, output)
                rows = []
            bar.update(task, completed=trainer.done)
    if rows:
        _keep(trainer, rows, output)
    return bool(pressed)


def _keep(trainer: ClickTrainer, rows: Sequence[dict[str, Any]], output: Path) -> None:
    """Write rows, then the checkpoint that they lead to."""
    from hisa.plugins.training import checkpoints
    from hisa.plugins.training.pixel_grounder import pack_network

    with (output / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    data = pack_network(trainer.network, output.name[:200], trainer.done, trainer.moments())
    checkpoints.write(output / "grounder.safetensors", data)


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collects Ctrl-C instead of raising; the second one raises."""
    pressed: list[int] = []

    def press(number: int, frame: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
