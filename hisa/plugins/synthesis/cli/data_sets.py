"""``hisa data show``, ``stats``, ``export`` and ``eval``: what is done with a set that is built."""

from __future__ import annotations

from pathlib import Path

import click

from hisa.cli.out import json_option, print_json, say
from hisa.text.safe_text import safe_line

__all__ = ["evaluate", "export", "show", "stats"]

_FOLDER = click.argument("folder", metavar="SET", type=click.Path(path_type=Path))


@click.command()
@_FOLDER
@click.option("-n", "count", type=click.IntRange(1, 1000), default=30, help="Samples (30).")
@click.option("--seed", type=int, default=0, help="Of the draw (0).")
def show(folder: Path, count: int, seed: int) -> None:
    """Write SET/samples.html: samples with their pictures, boxes and points.

    \b
    hisa data show set
    """
    from hisa.errors import UsageError
    from hisa.plugins.synthesis.data.samples_page import write_samples
    from hisa.plugins.synthesis.data.set_folder import read_set

    try:
        say(write_samples(read_set(folder), count, seed))
    except OSError as error:
        raise UsageError(f"{folder}: {error}") from error


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="SET...", type=Path)
@json_option
@click.pass_context
def stats(ctx: click.Context, /, folders: tuple[Path, ...], *, as_json: bool) -> None:
    """Print how diverse sets are, side by side (OS-Genesis, 5.1).

    Distances are mean cosine distances of all pairs, with the embedder of patterns.embedder.

    \b
    hisa data stats set
    hisa data stats explored self-instructed miniwob
    """
    from hisa.patterns.embedders import open_embedder
    from hisa.plugins.synthesis.data.diversity import diversity
    from hisa.plugins.synthesis.data.set_folder import read_set

    embedder = open_embedder(ctx.obj.patterns.embedder)
    sets = {str(folder): diversity(read_set(folder).samples, embedder) for folder in folders}
    if as_json:
        print_json({"embedder": embedder.name, "sets": sets})
        return
    say(
        f"{'set':30}"
        + "".join(f"{name.replace('_', ' '):>23}" for name in next(iter(sets.values())))
    )
    for name, numbers in sets.items():
        cells = (
            "-" if n is None else f"{n:.3f}" if isinstance(n, float) else n
            for n in numbers.values()
        )
        say(f"{safe_line(name, 29):30}" + "".join(f"{cell:>23}" for cell in cells))


@click.command()
@_FOLDER
@click.option("--format", "form", required=True, metavar="NAME", help="parquet, sharegpt, osworld.")
@click.option("-o", "out", required=True, metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--objective", "objectives", multiple=True,
    type=click.Choice(("planning", "action", "sequence", "grounding")), help="All by default.",
)  # fmt: skip
def export(folder: Path, form: str, out: Path, objectives: tuple[str, ...]) -> None:
    """Write SET for a trainer: a file a split, with licence and provenance in each row.

    \b
    hisa data export set --format parquet -o rows --objective planning --objective action
    python -c "import datasets; print(datasets.load_dataset('parquet', data_dir='rows'))"
    hisa data export set --format sharegpt -o chats
    hisa data export set --format osworld -o results
    """
    from hisa.plugins.synthesis.data.data_formats import export_set
    from hisa.plugins.synthesis.data.samples import OBJECTIVES
    from hisa.plugins.synthesis.data.set_folder import read_set

    chosen = [name for name in OBJECTIVES if name in objectives or not objectives]
    for path in export_set(read_set(folder), out, form, chosen):
        say(path)


@click.command("eval")
@_FOLDER
@click.argument("predictions", metavar="PREDICTIONS.jsonl", type=click.Path(path_type=Path))
@click.option(
    "--split", type=click.Choice(("test", "seen", "train")), default="test", help="Which (test)."
)
@json_option
def evaluate(folder: Path, predictions: Path, split: str, *, as_json: bool) -> None:
    """Score predicted steps: of the right type, and wholly right.

    A line is {"id": a sample's, "action": source or a reply that ends in "Action: …"}, in pixels of
    the picture. A point is right inside the box of the element, without one within 14% of the
    picture's width; what is not predicted is wrong.

    \b
    hisa data eval set predictions.jsonl
    """
    from hisa.errors import UsageError
    from hisa.plugins.synthesis.data.set_folder import read_set
    from hisa.plugins.synthesis.data.step_accuracy import accuracy, read_predictions

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
