"""``hisa data``: runs collected, graded and compressed; their steps shown, measured, exported."""

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
from hisa.plugins.synthesis.cli.write import model_settings
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.plugins.synthesis.data.sample_set import SampleSet
    from hisa.plugins.synthesis.data.samples import Sample
    from hisa.plugins.synthesis.writing import WriterSettings

__all__ = ["data"]

_FOLDER = click.argument("folder", metavar="DIR", type=Path)
_STEPS = click.Choice(("planning", "action", "sequence"))
_DRAWS = click.Choice(("reward", "all", "complete"))


@click.group()
def data() -> None:
    """Collect runs of tasks, grade and compress them, and make training data of their steps.

    Each step with a thought is a sample: its picture, visible elements, thought and action. Steps
    that replay as one ("hisa data compress") are merged; those that hold a secret or disagree with
    themselves are left out.

    \b
    hisa data collect --from benches/pads -o collected
    hisa data compress collected
    hisa data show collected
    hisa data export collected -o rows --licence MIT
    """


data.add_command(collect)
data.add_command(compress)


@data.command()
@_FOLDER
@click.option("-n", "count", type=click.IntRange(1, 1000), default=30, help="Samples (30).")
@click.option("--seed", type=int, default=0, help="Of the draw (0).")
def show(folder: Path, count: int, seed: int) -> None:
    """Write DIR/samples.html: samples with their pictures, boxes and points.

    \b
    hisa data show collected
    """
    from hisa.plugins.synthesis.data.data_formats import write_samples
    from hisa.plugins.synthesis.data.sample_set import read_samples

    try:
        say(write_samples(read_samples([folder]), folder, count, seed))
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from error


@data.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=Path)
@json_option
@click.pass_context
def stats(ctx: click.Context, /, folders: tuple[Path, ...], *, as_json: bool) -> None:
    """Print how diverse the runs of folders are, side by side (OS-Genesis, 5.1).

    Distances are mean cosine distances of all pairs, with the embedder of patterns.embedder.

    \b
    hisa data stats collected benches/miniwob
    """
    from hisa.patterns.embedders import open_embedder
    from hisa.plugins.synthesis.data.sample_set import read_samples
    from hisa.plugins.synthesis.data.set_measures import diversity

    embedder = open_embedder(ctx.obj.patterns.embedder)
    sets = {str(folder): diversity(read_samples([folder]).samples, embedder) for folder in folders}
    if as_json:
        print_json({"embedder": embedder.name, "sets": sets})
        return
    names = next(iter(sets.values()))
    say("runs".ljust(30) + "".join(name.replace("_", " ").rjust(23) for name in names))
    for folder, numbers in sets.items():
        cells = ("-" if number is None else str(round(number, 3)) for number in numbers.values())
        say(safe_line(folder, 29).ljust(30) + "".join(cell.rjust(23) for cell in cells))


@data.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=Path)
@click.option("-o", "out", required=True, metavar="ROWS", type=Path)
@click.option("--licence", required=True, metavar="NAME", help="Of the tasks: CC-BY-4.0, …")
@click.option("--objective", "only", multiple=True, type=_STEPS, help="All by default.")
@click.option("--sample", "draw", type=_DRAWS, help="Draw runs by DIR/grades.jsonl (each once).")
@click.option("--judge", default="rules", metavar="NAME", help="Whose grades (rules).")
@click.option("--seed", type=int, default=0, help="Of the draw (0).")
def export(folders: tuple[Path, ...], out: Path, only: tuple[str, ...], **how: Any) -> None:
    """Write rows as ROWS/train.parquet, with licence and provenance in each.

    \b
    hisa data export collected -o rows --licence MIT --objective planning --objective action
    python -c "import datasets; print(datasets.load_dataset('parquet', data_dir='rows'))"
    """
    from hisa.plugins.synthesis.data.data_formats import export_rows
    from hisa.plugins.synthesis.data.sample_set import read_samples

    made = read_samples(folders, **how)
    say(export_rows(made, out, only))
    say(f"{len(made.samples)} samples")
    for reason, count in (+made.left_out).most_common():
        say(f"  {count:4} left out: {reason}")


@data.command("eval")
@_FOLDER
@click.argument("predictions", required=False, metavar="[PREDICTIONS.jsonl]", type=Path)
@click.option("--model", metavar="NAME", help="Asked for each step; else PREDICTIONS.jsonl has it.")
@click.option("--objective", type=_STEPS, default="planning", help="What is asked (planning).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Steps, drawn; all.")
@json_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    folder: Path,
    predictions: Path | None,
    *,
    model: str | None,
    objective: Any,
    limit: int | None,
    as_json: bool,
) -> None:
    """Score predicted steps of the runs in DIR: of the right type, and wholly right.

    With --model they are asked for first, one by one, and appended to PREDICTIONS.jsonl
    (DIR/predictions-MODEL-OBJECTIVE.jsonl); the same command goes on where it was stopped. The
    model gets the step as it is exported, and how an answer looks.

    A line is {"id": a sample's, "action": source or a reply that ends in "Action: …"}, in pixels of
    the picture. A point is right inside the box of the element, without one within 14% of the
    picture's width; what is not predicted is wrong.

    \b
    hisa data eval collected predictions.jsonl
    hisa data eval collected --model gguf:coder-0.5b --limit 20
    hisa data eval collected --model gpt-5 --objective sequence

    Exit status: 0 scored; 2 wrong usage; 3 the model ended early; 130 stopped.
    """
    from hisa.plugins.synthesis.data.sample_set import read_samples
    from hisa.plugins.synthesis.data.set_measures import accuracy, read_predictions

    made = read_samples([folder])
    samples = made.samples
    chosen = random.Random(0).sample(samples, len(samples))[:limit]
    if model:
        name = re.sub(r"[^\w.]+", "-", f"predictions-{model}-{objective}")
        predictions = predictions or folder / f"{name}.jsonl"
        _predict(made, chosen, objective, model_settings(ctx.obj, model), predictions)
    if predictions is None:
        raise UsageError("there are no predictions", fix="--model NAME, or PREDICTIONS.jsonl")
    actions = read_predictions(predictions)
    if model or limit:
        actions = {one.id: actions[one.id] for one in chosen if one.id in actions}
    shares = accuracy(chosen, actions)
    if as_json:
        print_json({"predicted": len(actions), **shares})
        return
    say(f"{len(actions)} of {len(chosen)} steps are predicted, of {len(samples)}")
    for name, share in shares.items():
        say(f"  {name}: {share}")


def _predict(
    made: SampleSet,
    chosen: Sequence[Sample],
    objective: Any,
    settings: WriterSettings,
    path: Path,
) -> None:
    """Ask a model for what is lacking in a file of predictions."""
    from hisa.plugins.synthesis.data.predicting import predict
    from hisa.plugins.synthesis.exploration import run_alone

    work = partial(predict, made, chosen, objective, settings, path, say_error)
    if run_alone(work, path.with_name(f".{path.name}.lock")) is None:
        raise click.Abort
    say_error(f"predictions: {path}")
