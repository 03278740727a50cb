"""``hisa data show``, ``stats``, ``export`` and ``eval``: what is done with a set that is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hisa.cli.out import json_option, print_json, say
from hisa.errors import UsageError
from hisa.text.safe_text import safe_line

__all__ = ["evaluate", "export", "show", "stats"]

_FOLDER = click.argument("folder", metavar="SET", type=Path)
_FORMATS = click.Choice(("parquet", "sharegpt", "osworld"))
_OBJECTIVES = click.Choice(("planning", "action", "sequence", "grounding"))
_SPLITS = click.Choice(("test", "seen", "train"))


@click.command()
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


@click.command()
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


@click.command()
@_FOLDER
@click.option("--format", "form", required=True, type=_FORMATS)
@click.option("-o", "out", required=True, metavar="DIR", type=Path)
@click.option("--objective", "only", multiple=True, type=_OBJECTIVES, help="All by default.")
def export(folder: Path, form: Any, out: Path, only: tuple[str, ...]) -> None:
    """Write SET for a trainer: a file a split, with licence and provenance in each row.

    \b
    hisa data export set --format parquet -o rows --objective planning --objective action
    python -c "import datasets; print(datasets.load_dataset('parquet', data_dir='rows'))"
    hisa data export set --format sharegpt -o chats
    """
    from hisa.plugins.synthesis.data.data_formats import export_set
    from hisa.plugins.synthesis.data.set_folder import read_set

    for path in export_set(read_set(folder), out, form, only):
        say(path)


@click.command("eval")
@_FOLDER
@click.argument("predictions", metavar="PREDICTIONS.jsonl", type=Path)
@click.option("--split", type=_SPLITS, default="test", help="Which (test).")
@json_option
def evaluate(folder: Path, predictions: Path, split: str, *, as_json: bool) -> None:
    """Score predicted steps: of the right type, and wholly right.

    A line is {"id": a sample's, "action": source or a reply that ends in "Action: …"}, in pixels of
    the picture. A point is right inside the box of the element, without one within 14% of the
    picture's width; what is not predicted is wrong.

    \b
    hisa data eval set predictions.jsonl
    """
    from hisa.plugins.synthesis.data.set_folder import read_set
    from hisa.plugins.synthesis.data.set_measures import accuracy, read_predictions

    samples = [sample for sample in read_set(folder).samples if sample.split == split]
    if not samples:
        raise UsageError(f"{folder}: no sample in {split!r}", fix="--split train")
    actions = read_predictions(predictions)
    shares = accuracy(samples, actions)
    if as_json:
        print_json({"split": split, "predicted": len(actions), **shares})
        return
    say(f"{len(actions)} of {len(samples)} steps in {split!r} are predicted")
    for name, share in shares.items():
        say(f"  {name}: {share}")
