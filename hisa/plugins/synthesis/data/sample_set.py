"""The samples of runs: made, checked, and left out with a reason where they are bad."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.synthesis.data.building import Builder
from hisa.plugins.synthesis.data.collecting import read_grades
from hisa.plugins.synthesis.data.compression import CompressedRun
from hisa.plugins.synthesis.data.sample_checks import check
from hisa.plugins.synthesis.data.samples import Sample
from hisa.plugins.synthesis.data.trajectories import read_trajectories
from hisa.plugins.synthesis.data.trajectory_rewards import RULES, How, sample
from hisa.plugins.synthesis.exploration import read_records

__all__ = ["SampleSet", "read_samples"]


@dataclass(frozen=True)
class SampleSet:
    """Samples with the files of their pictures; ``left_out`` counts steps by the reason."""

    samples: tuple[Sample, ...]
    images: Mapping[str, Path]
    left_out: Counter[str]

    def image_bytes(self, name: str) -> bytes:
        """A picture as PNG. Raises: UsageError where it is gone, or not what its name says."""
        path = self.images[name]
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != name:
            raise UsageError(f"{path}: gone, or another picture than its name says")
        return content


def read_samples(
    folders: Sequence[Path],
    *,
    licence: str = "",
    draw: How | None = None,
    judge: str = RULES,
    seed: int = 0,
) -> SampleSet:
    """The samples of folders of runs, benches and collections.

    Args:
        folders: what "hisa data collect" or "hisa bench run" made.
        licence: of the tasks.
        draw: draws as many runs as there are by the judge's grades (OS-Genesis, algorithm 1).
        judge: whose grades.
        seed: of the draw.

    Raises: UsageError where nothing is left, or runs have no grade to draw by.
    """
    trajectories, left_out = read_trajectories(folders)
    if not trajectories:
        raise UsageError(f"no finished run: {dict(left_out) or 'empty'}", fix="hisa runs ls")
    files = [folder / "compressed.jsonl" for folder in folders]
    compressed = [run for file in files for run in read_records(file, CompressedRun)]
    sequences = [sequence for run in compressed for sequence in run.sequences]
    builder = Builder(licence, sequences, left_out)
    copies = Counter(trajectory.id for trajectory in trajectories)
    if draw:
        copies = _drawn(folders, set(copies), draw, judge, seed)
    left_out.update("its run was not drawn" for t in trajectories if not copies[t.id])
    samples = [s for t in trajectories if copies[t.id] for s in builder.samples(t, copies[t.id])]
    problems = reversed([*check(samples)])  # the first of a sample counts
    bad = {problem.sample: f"{problem.kind}: {problem.detail}" for problem in problems}
    left_out.update(bad.values())
    good = tuple(sample for sample in samples if sample.id not in bad)
    if not good:
        raise UsageError(f"no sample is left: {dict(left_out)}", fix="hisa runs ls")
    return SampleSet(good, builder.images, left_out)


def _drawn(
    folders: Sequence[Path], runs: set[str], draw: How, judge: str, seed: int
) -> Counter[str]:
    """Times that each run is drawn."""
    every = [grade for folder in folders for grade in read_grades(folder, judge)]
    grades = {grade.run: grade for grade in every if grade.run in runs}
    if lacking := len(runs - set(grades)):
        message = f"{lacking} of {len(runs)} runs have no grade by {judge!r}"
        raise UsageError(message, fix="hisa data collect …, or another --judge")
    return Counter(sample(list(grades.values()), len(runs), how=draw, seed=seed))
