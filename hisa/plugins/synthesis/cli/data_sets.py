"""``hisa data``: runs collected, graded and compressed; their steps shown, measured, exported."""

from __future__ import annotations

import random
import re
from functools import partial
from pathlib import Path
from typing import Any

import click

from hisa.cli.out import json_option, print_json, say, say_error
from hisa.errors import UsageError
from hisa.plugins.synthesis.cli.collect import collect
from hisa.plugins.synthesis.cli.compress import compress
from hisa.plugins.synthesis.cli.write import with_model
from hisa.text.safe_text import safe_line

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
@click.option("--model", metavar="NAME", required=True, help="Asked for the next step of each.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Steps, drawn; all.")
@click.pass_context
def evaluate(ctx: click.Context, /, folder: Path, model: str, limit: int | None) -> None:
    """Ask a model for the steps of the runs in DIR, and score them: right type, wholly right.

    The model gets each step as it is exported (planning), and how an answer looks. Its replies go
    to DIR/predictions-MODEL.jsonl; the same command goes on where it was stopped. A point is right
    inside the box of the element, without one within 14% of the picture's width.

    \b
    hisa data eval collected --model gguf:coder-0.5b --limit 20

    Exit status: 0 scored; 2 wrong usage; 3 the model ended early; 130 stopped.
    """
    from hisa.plugins.synthesis.data.predicting import predict
    from hisa.plugins.synthesis.data.sample_set import read_samples
    from hisa.plugins.synthesis.data.set_measures import accuracy
    from hisa.plugins.synthesis.exploration import run_alone

    made = read_samples([folder])
    chosen = random.Random(0).sample(made.samples, len(made.samples))[:limit]
    name = re.sub(r"[^\w.]+", "-", f"predictions-{model}")
    settings, path = with_model(ctx.obj, model), folder / f"{name}.jsonl"
    work = partial(predict, made, chosen, settings, path, say_error)
    predictions = run_alone(work, folder / f".{name}.lock")
    if predictions is None:
        raise click.Abort
    say(f"{len(chosen)} of {len(made.samples)} steps are predicted: {path}")
    for name, share in accuracy(chosen, predictions).items():
        say(f"  {name}: {share}")
