"""``hisa data``: training data made of finished runs; what is done with a set that is built."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import json_option, print_json, say, say_error
from hisa.errors import UsageError
from hisa.plugins.synthesis.cli.collect import collect
from hisa.plugins.synthesis.cli.compress import compress
from hisa.plugins.synthesis.cli.data_build import build
from hisa.plugins.synthesis.cli.write import model_option, model_settings
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.plugins.synthesis.data.samples import Sample
    from hisa.plugins.synthesis.data.set_folder import DataSet
    from hisa.plugins.synthesis.writing import WriterSettings

__all__ = ["data"]

_FOLDER = click.argument("folder", metavar="SET", type=Path)
_STEPS = click.Choice(("planning", "action", "sequence"))
_SPLITS = click.Choice(("test", "train"))


@click.group()
def data() -> None:
    """Collect runs of tasks, grade and compress them, and build data sets of them.

    \b
    hisa data collect own:pads/tasks --model reference -o collected
    hisa data compress collected
    hisa data build collected -o set --licence MIT
    hisa data show set
    """


for command in (collect, compress, build):
    data.add_command(command)


@data.command()
@_FOLDER
@click.option("-n", "count", type=click.IntRange(1, 1000), default=30, help="Samples (30).")
@click.option("--seed", type=int, default=0, help="Of the draw (0).")
def show(folder: Path, count: int, seed: int) -> None:
    """Write SET/samples.html: samples with their pictures, boxes and points.

    \b
    hisa data show set
    """
    from hisa.plugins.synthesis.data.data_formats import write_samples
    from hisa.plugins.synthesis.data.set_folder import read_set

    try:
        say(write_samples(read_set(folder), count, seed))
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from error


@data.command()
@click.argument("folders", nargs=-1, required=True, metavar="SET...", type=Path)
@json_option
@click.pass_context
def stats(ctx: click.Context, /, folders: tuple[Path, ...], *, as_json: bool) -> None:
    """Print how diverse sets are, side by side (OS-Genesis, 5.1).

    Distances are mean cosine distances of all pairs, with the embedder of patterns.embedder.

    \b
    hisa data stats explored self-instructed miniwob
    """
    from hisa.patterns.embedders import open_embedder
    from hisa.plugins.synthesis.data.set_folder import read_set
    from hisa.plugins.synthesis.data.set_measures import diversity

    embedder = open_embedder(ctx.obj.patterns.embedder)
    sets = {str(folder): diversity(read_set(folder).samples, embedder) for folder in folders}
    if as_json:
        print_json({"embedder": embedder.name, "sets": sets})
        return
    names = next(iter(sets.values()))
    say("set".ljust(30) + "".join(name.replace("_", " ").rjust(23) for name in names))
    for folder, numbers in sets.items():
        cells = ("-" if number is None else str(round(number, 3)) for number in numbers.values())
        say(safe_line(folder, 29).ljust(30) + "".join(cell.rjust(23) for cell in cells))


@data.command()
@_FOLDER
@click.option("-o", "out", required=True, metavar="DIR", type=Path)
@click.option("--objective", "only", multiple=True, type=_STEPS, help="All by default.")
def export(folder: Path, out: Path, only: tuple[str, ...]) -> None:
    """Write SET as parquet: a file a split, with licence and provenance in each row.

    \b
    hisa data export set -o rows --objective planning --objective action
    python -c "import datasets; print(datasets.load_dataset('parquet', data_dir='rows'))"
    """
    from hisa.plugins.synthesis.data.data_formats import export_set
    from hisa.plugins.synthesis.data.set_folder import read_set

    for path in export_set(read_set(folder), out, only):
        say(path)


@data.command("eval")
@_FOLDER
@click.argument("predictions", required=False, metavar="[PREDICTIONS.jsonl]", type=Path)
@click.option("--split", type=_SPLITS, default="test", help="Which (test).")
@model_option("Asked for each step; without one, PREDICTIONS.jsonl has the answers.")
@click.option("--objective", type=_STEPS, default="planning", help="What is asked (planning).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Steps, drawn; all.")
@json_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    folder: Path,
    predictions: Path | None,
    split: str,
    *,
    as_json: bool,
    **how: Any,
) -> None:
    """Score predicted steps: of the right type, and wholly right.

    With --model they are asked for first, one by one, and appended to PREDICTIONS.jsonl
    (SET/predictions-MODEL-OBJECTIVE.jsonl); the same command goes on where it was stopped. The
    model gets the step as it is exported, and how an answer looks.

    A line is {"id": a sample's, "action": source or a reply that ends in "Action: …"}, in pixels of
    the picture. A point is right inside the box of the element, without one within 14% of the
    picture's width; what is not predicted is wrong.

    \b
    hisa data eval set predictions.jsonl
    hisa data eval set --model gguf:coder-0.5b --limit 20
    hisa data eval set --model gpt-5 --objective sequence

    Exit status: 0 scored; 2 wrong usage; 3 the model ended early; 130 stopped.
    """
    from hisa.plugins.synthesis.data.set_folder import read_set
    from hisa.plugins.synthesis.data.set_measures import accuracy, read_predictions

    built = read_set(folder)
    samples = [sample for sample in built.samples if sample.split == split]
    if not samples:
        raise UsageError(f"{folder}: no sample in {split!r}", fix="--split train")
    chosen = random.Random(0).sample(samples, len(samples))[: how["limit"]]
    if how["model"]:
        predictions = _predicted(
            model_settings(ctx.obj, how["model"]), built, chosen, predictions, how
        )
    if predictions is None:
        raise UsageError("there are no predictions", fix="--model NAME, or PREDICTIONS.jsonl")
    actions = read_predictions(predictions)
    if how["model"] or how["limit"]:
        actions = {one.id: actions[one.id] for one in chosen if one.id in actions}
    shares = accuracy(chosen, actions)
    if as_json:
        print_json({"split": split, "predicted": len(actions), **shares})
        return
    drawn = f", drawn from {len(samples)}" if len(chosen) < len(samples) else ""
    say(f"{len(actions)} of {len(chosen)} steps in {split!r} are predicted{drawn}")
    for name, share in shares.items():
        say(f"  {name}: {share}")


def _predicted(
    model: WriterSettings,
    built: DataSet,
    chosen: Sequence[Sample],
    path: Path | None,
    how: dict[str, Any],
) -> Path:
    """Ask the model for what is lacking in the file of predictions; returns its path."""
    from hisa.plugins.synthesis.data.predicting import predict
    from hisa.plugins.synthesis.exploration import run_alone

    name = re.sub(r"[^\w.]+", "-", f"predictions-{how['model']}-{how['objective']}")
    path = path or built.folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    work = partial(predict, built, chosen, how["objective"], model, path, say_error)
    if run_alone(work, path.with_name(f".{path.name}.lock")) is None:
        raise click.Abort
    say_error(f"predictions: {path}")
    return path
