"""The samples of runs: makes and checks them, and leaves bad ones out with a reason."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from hisa.actions import points, to_source, to_space
from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command
from hisa.plugins.synthesis.data.compression import CompressedRun, SequenceRecord
from hisa.plugins.synthesis.data.samples import (
    Provenance,
    Row,
    Sample,
    SampledElement,
    Target,
    rows,
)
from hisa.plugins.synthesis.data.trajectories import (
    Look,
    Trajectory,
    TrajectoryStep,
    read_trajectories,
)
from hisa.plugins.synthesis.data.trajectory_rewards import RULES, DrawMethod, draw_runs, read_grades
from hisa.plugins.synthesis.exploration import read_records
from hisa.runs.run_reader import read_manifest
from hisa.screen.geometry import Size, convert, convert_box
from hisa.screen.observation import Element
from hisa.text.redact import Redactor, holds_redacted

__all__ = ["Builder", "SampleSet", "export_rows", "problems", "read_samples"]


@dataclass(frozen=True)
class SampleSet:
    """Samples with the files of their pictures; ``left_out`` counts the others by the reason."""

    samples: tuple[Sample, ...]
    images: Mapping[str, Path]
    left_out: Counter[str]

    def image_bytes(self, name: str) -> bytes:
        """Returns a picture as PNG. Raises: UsageError if it is missing or its hash is wrong."""
        path = self.images[name]
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != name:
            raise UsageError(f"{path}: missing, or its content does not match its name")
        return content


def read_samples(
    folders: Sequence[Path],
    *,
    licence: str = "",
    draw: DrawMethod | None = None,
    judge: str = RULES,
    seed: int = 0,
) -> SampleSet:
    """Returns the samples of folders of runs, benches and collections.

    Args:
        folders: of runs, as "hisa data collect" or "hisa bench run" writes them.
        licence: of the tasks.
        draw: draws as many runs as there are, by the judge's grades (OS-Genesis, algorithm 1).
        judge: whose grades count.
        seed: of the draw.

    Raises: UsageError if no sample is left, or runs have no grade to draw by.
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
        copies = _draw_runs(folders, set(copies), draw, judge, seed)
    left_out.update("its run was not drawn" for t in trajectories if not copies[t.id])
    samples = [s for t in trajectories if copies[t.id] for s in builder.samples(t, copies[t.id])]
    bad = problems(samples)
    left_out.update(bad.values())
    good = tuple(sample for sample in samples if sample.id not in bad)
    if not good:
        raise UsageError(f"no sample is left: {dict(left_out)}", fix="hisa runs ls")
    return SampleSet(good, builder.images, left_out)


def _draw_runs(
    folders: Sequence[Path], runs: set[str], draw: DrawMethod, judge: str, seed: int
) -> Counter[str]:
    """Returns how often each run is drawn."""
    every = [grade for folder in folders for grade in read_grades(folder, judge)]
    grades = {grade.run: grade for grade in every if grade.run in runs}
    if lacking := len(runs - set(grades)):
        message = f"{lacking} of {len(runs)} runs have no grade by {judge!r}"
        raise UsageError(message, fix="hisa data collect …, or another --judge")
    return Counter(draw_runs(list(grades.values()), len(runs), method=draw, seed=seed))


def problems(samples: Sequence[Sample]) -> dict[str, str]:
    """Returns the problem of each bad sample by its id; samples of a run must be in order."""
    redactor = Redactor()
    bad: dict[str, str] = {}
    last: dict[str, Sample] = {}
    for sample in samples:
        before = last.get(sample.provenance.run)
        last[sample.provenance.run] = sample
        order = _order(before, sample) if before else ""
        if problem := _secret(sample, redactor) or _box(sample) or order:
            bad[sample.id] = problem
    return bad


def _secret(sample: Sample, redactor: Redactor) -> str:
    """Returns a problem if a text has a key, a password or a mark where one was redacted."""
    texts = [sample.instruction, sample.thought, sample.action, sample.window]
    texts += [sample.provenance.model_dump_json()]
    for element in (*sample.elements, *(t.element for t in sample.targets if t.element)):
        again = element.text in ("", element.name)
        texts.append(element.name if again else f"{element.name}: {element.text}")
    secret = any(holds_redacted(text) or redactor.text(text) != text for text in texts)
    return "a secret is in a text of it" if secret else ""


def _order(before: Sample, sample: Sample) -> str:
    """Returns a problem unless numbers rise and a step begins with the look that ended the last."""
    if sample.step <= before.last or sample.last < sample.step or before.ends:
        return "its number is not above that of the step before"
    follows = sample.step == before.last + 1 and before.after not in ("", sample.image)
    return "it does not begin with the look that the step before ended with" if follows else ""


def _box(sample: Sample) -> str:
    points, targets = sample.points, sample.targets
    if len(points) != len(targets) or any(
        math.dist(point, target.point) > 1.5 for point, target in zip(points, targets, strict=True)
    ):
        return "its points differ from those of its action"
    for target in targets:
        if target.element and not target.element.fits_on(sample.size):
            return "a target's box does not lie on the picture"
        if target.element and not target.element.holds(target.point):
            return "a target's point is outside its box"
    return ""


def export_rows(sample_set: SampleSet, out: Path, objectives: Collection[str] = ()) -> Path:
    """Writes ``train.parquet``, one row per example, with ``images`` as `datasets` reads them.

    Args:
        sample_set: the samples.
        out: folder of the file.
        objectives: of the rows; empty: all.

    Returns:
        The file.

    Raises: LibraryLacking without ``datasets``; UsageError if the folder cannot be written.
    """
    try:
        import datasets as hf  # type: ignore[import-not-found]  # heavy, and an extra
    except ImportError as error:
        fix = install_command("data")
        raise LibraryLacking("writing parquet needs the package datasets", fix=fix) from error
    names = sorted({*Row.model_fields, *Provenance.model_fields} - {"provenance"})
    columns = dict.fromkeys(names, hf.Value("string")) | {"score": hf.Value("float64")}
    columns |= {"images": hf.Sequence(hf.Image())}

    def plain(row: Row) -> dict[str, Any]:
        images = [{"bytes": sample_set.image_bytes(name), "path": None} for name in row.images]
        flat = row.model_dump(exclude={"provenance"}) | row.provenance.model_dump()
        return flat | {"images": images}

    examples, file = list(rows(sample_set.samples, objectives)), out / "train.parquet"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as cache:  # pictures go through it, not through memory
            source = {"features": hf.Features(columns), "cache_dir": cache}
            made_rows = hf.Dataset.from_generator(lambda: map(plain, examples), **source)
            made_rows.to_parquet(str(file))
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}", fix="-o another folder") from error
    return file


@dataclass
class Builder:
    """Makes samples, and counts by the reason the steps and sequences that are left out."""

    licence: str
    sequences: Sequence[SequenceRecord] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    images: dict[str, Path] = field(default_factory=dict)
    """The picture files of the samples made so far, by name."""

    def samples(self, trajectory: Trajectory, copies: int = 1) -> Iterator[Sample]:
        """Yield the samples of a trajectory in order. Raises: UsageError for a bad manifest."""
        manifest = read_manifest(trajectory.folder)
        task, version = manifest.task, manifest.versions.get("hisa", "")
        provenance = Provenance(
            run=trajectory.id,
            task=task.id,
            source=task.format or "own",
            model=trajectory.policy,
            machine=manifest.environment,
            hisa=version,
            licence=self.licence,
            score=trajectory.score,
        )
        common = {"instruction": task.instruction, "provenance": provenance, "copies": copies}
        for steps, thought in self._group_steps(trajectory):
            try:
                yield self._sample(steps, thought, common)
            except (ValueError, OSError, LookupError, TypeError):
                self.left_out["its picture or elements are damaged"] += 1

    def _group_steps(self, trajectory: Trajectory) -> Iterator[tuple[list[TrajectoryStep], str]]:
        """Yields steps that make one sample, with their thought; counts those left out."""
        good = [step for step in trajectory.steps if not _unusable(step)]
        self.left_out.update(filter(None, map(_unusable, trajectory.steps)))
        own = [sequence for sequence in self.sequences if sequence.run == trajectory.id]
        ends = Counter(number for s in own for number in {s.first_step, s.last_step})
        longer = {s.first_step: s for s in own if s.last_step > s.first_step}
        self.left_out.update(
            f"not merged: replayed, {s.replayed}" for s in longer.values() if not s.is_learnable
        )
        while good:
            steps, thought = good[:1], good[0].thought
            if (merge := longer.get(good[0].number)) and merge.is_learnable:
                numbers = range(merge.first_step, merge.last_step + 1)
                inside = [s for s in good if s.number in numbers and s.actions]
                shared = ends[merge.first_step] + ends[merge.last_step] > 2
                if len(inside) == len(numbers) and not shared:  # only whole steps can be merged
                    steps, thought = inside, merge.thought
            yield steps, thought
            del good[: len(steps)]

    def _sample(
        self, steps: Sequence[TrajectoryStep], thought: str, common: dict[str, Any]
    ) -> Sample:
        first, last, look = steps[0], steps[-1], steps[0].before
        with Image.open(look.image, formats=("PNG",)) as file:
            size = Size(*file.size)
        action = f"{first.tool}({json.dumps(first.input, ensure_ascii=False)})"
        if actions := [action for step in steps for action in step.actions]:
            action = to_source(to_space(actions, "image", image=size, screen=look.size))
        shown = (_plain(element, look, size) for element in look.elements[:5_000])
        elements = [e for e in shown if e.fits_on((size.width, size.height)) and (e.name or e.text)]
        self.images |= {view.image.stem: view.image for view in (look, last.after) if view}
        return Sample(
            id=f"{common['provenance'].run}/{first.number}",
            thought=thought,
            action=action,
            tool="gui_action" if actions else first.tool,
            image=look.image.stem,
            after=last.after.image.stem if last.after else "",
            size=(size.width, size.height),
            window=look.window,
            elements=tuple(elements),
            targets=tuple(_targets(steps, size)),
            step=first.number,
            last=last.number,
            ends=last.ends,
            **common,
        )


def _unusable(step: TrajectoryStep) -> str:
    """Returns the reason for leaving a step out; empty where there is none."""
    if not step.ok:
        return "the act failed"
    if step.tool == "gui_action" and not step.actions and not step.ends:
        return "its place was not found"
    return "" if step.thought.strip() else "it has no thought"


def _plain(element: Element, look: Look, size: Size) -> SampledElement:
    box = convert_box(element.box, "image", screen=look.size, image=size)
    left, top, right, bottom = (round(s, 1) for s in (box.left, box.top, box.right, box.bottom))
    texts = {"name": element.name[:2_000], "text": element.text[:2_000]}
    return SampledElement(role=element.role, box=(left, top, right, bottom), **texts)


def _targets(steps: Sequence[TrajectoryStep], size: Size) -> Iterator[Target]:
    look = steps[0].before
    for step in steps:
        places = points(step.actions)
        for point in places:
            shown = convert(point, "image", screen=look.size, image=size)
            element = (hit := look.element_at(point)) and _plain(hit, look, size)
            place = round(shown.x, 1), round(shown.y, 1)
            yield Target(point=place, element=element)
