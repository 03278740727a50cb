"""The page of a data set: samples drawn by chance, with boxes and points on their pictures."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.data.samples import pairs
from hisa.plugins.synthesis.data.set_folder import DataSet
from hisa.runs.pictures import embed
from hisa.runs.templates import templates
from hisa.runs.wording import one_line

__all__ = ["write_samples"]


def write_samples(data: DataSet, count: int, seed: int = 0) -> Path:
    """Write ``samples.html`` with up to ``count`` samples; it loads nothing and has no script.

    Raises:
        OSError: it cannot be written.
    """
    shown = random.Random(seed).sample(data.samples, min(count, len(data.samples)))
    page = templates(Path(__file__).resolve().parents[1])
    page.filters |= {"line": one_line}
    text = page.get_template("samples_page.html.j2").render(
        data=data, samples=shown, pairs={sample.id: list(pairs(sample)) for sample in shown},
        splits=Counter(sample.split for sample in data.samples),
        pictures=embed((sample.image, data.image(sample.image)) for sample in shown),
    )  # fmt: skip
    replace_file(data.folder / "samples.html", text.encode("utf-8", "replace"))
    return data.folder / "samples.html"
