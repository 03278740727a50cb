"""Samples for others: parquet for trainers, a page for people."""

from __future__ import annotations

import random
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command
from hisa.plugins.synthesis.cards_page import Card, Mark, Page, Shot, write_page
from hisa.plugins.synthesis.data.sample_set import SampleSet
from hisa.plugins.synthesis.data.samples import Provenance, Row, Sample, rows

__all__ = ["export_rows", "write_samples"]


def export_rows(made: SampleSet, out: Path, objectives: Collection[str] = ()) -> Path:
    """Write ``train.parquet``, a row an example, with ``images`` as `datasets` reads them.

    ``objectives`` are all by default. Returns the file.

    Raises: LibraryLacking without ``datasets``; UsageError where the folder cannot be written.
    """
    try:
        import datasets as hf  # type: ignore[import-not-found]  # heavy, and an extra
    except ImportError as error:
        fix = install_command("data")
        raise LibraryLacking("parquet needs the package datasets", fix=fix) from error
    names = sorted({*Row.model_fields, *Provenance.model_fields} - {"provenance"})
    columns = dict.fromkeys(names, hf.Value("string")) | {"score": hf.Value("float64")}
    columns |= {"images": hf.Sequence(hf.Image())}

    def plain(row: Row) -> dict[str, Any]:
        images = [{"bytes": made.image_bytes(name), "path": None} for name in row.images]
        flat = row.model_dump(exclude={"provenance"}) | row.provenance.model_dump()
        return flat | {"images": images}

    examples, file = list(rows(made.samples, objectives)), out / "train.parquet"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as cache:  # pictures go through it, not through memory
            source = {"features": hf.Features(columns), "cache_dir": cache}
            made_rows = hf.Dataset.from_generator(lambda: map(plain, examples), **source)
            made_rows.to_parquet(str(file))
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}", fix="-o another folder") from error
    return file


def write_samples(made: SampleSet, folder: Path, count: int, seed: int = 0) -> Path:
    """Write ``samples.html`` with up to ``count`` samples, drawn by the seed."""
    drawn = random.Random(seed).sample(made.samples, min(count, len(made.samples)))
    left_out = [f"{many}: {reason}" for reason, many in made.left_out.most_common()]
    page = Page(
        folder.name,
        {"samples": len(made.samples)},
        f"{len(drawn)} of them, drawn by chance. Red: the element that an act hits, and the point.",
        {"Samples": list(map(_card, drawn))},
        {"Left out": [Card(line) for line in left_out]},
    )
    return write_page(page, folder / "samples.html", made.images)


def _card(sample: Sample) -> Card:
    marks: list[Mark] = []
    for target in sample.targets:
        marks += [("target", target.element.box)] if target.element else []
        marks.append(("point", target.point))
    origin = sample.provenance
    texts = {"Thought": [sample.thought], "Action": sample.action.splitlines()}
    note = f"{sample.id}; {origin.task} of {origin.source}; {origin.model}"
    return Card(
        sample.instruction,
        f"{note} on {origin.machine}; HiSA {origin.hisa}; score {origin.score}",
        [Shot(sample.window, sample.image, sample.size, marks)],
        texts,
    )
