"""Samples of trajectories: merged steps where they replay, boxes and points in picture pixels."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from hisa.actions import points, to_source, to_space
from hisa.plugins.synthesis.data.compression import SequenceRecord
from hisa.plugins.synthesis.data.samples import Provenance, Sample, SampledElement, Target
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory, TrajectoryStep
from hisa.runs.read import read_manifest
from hisa.screen.geometry import Size, convert, convert_box
from hisa.screen.observation import Element

__all__ = ["Builder"]


@dataclass
class Builder:
    """Makes samples, and counts by the reason which steps and sequences are left out."""

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
        for steps, thought in self._merged(trajectory):
            try:
                yield self._sample(steps, thought, common)
            except (ValueError, OSError, LookupError, TypeError):
                self.left_out["its picture or elements are damaged"] += 1

    def _merged(self, trajectory: Trajectory) -> Iterator[tuple[list[TrajectoryStep], str]]:
        """Yield steps to take together, with their thought; failed ones are counted."""
        good = [step for step in trajectory.steps if not _unusable(step)]
        self.left_out.update(filter(None, map(_unusable, trajectory.steps)))
        own = [sequence for sequence in self.sequences if sequence.run == trajectory.id]
        ends = Counter(number for s in own for number in {s.first_step, s.last_step})
        longer = {s.first_step: s for s in own if s.last_step > s.first_step}
        self.left_out.update(
            f"not merged: replayed, {s.replayed}" for s in longer.values() if not s.kept
        )
        while good:
            steps, thought = good[:1], good[0].thought
            if (merge := longer.get(good[0].number)) and merge.kept:
                numbers = range(merge.first_step, merge.last_step + 1)
                inside = [s for s in good if s.number in numbers and s.actions]
                shared = ends[merge.first_step] + ends[merge.last_step] > 2
                if len(inside) == len(numbers) and not shared:  # it ends where its steps do
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
        elements = [e for e in shown if e.lies_on((size.width, size.height)) and (e.name or e.text)]
        self.images |= {seen.image.stem: seen.image for seen in (look, last.after) if seen}
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
