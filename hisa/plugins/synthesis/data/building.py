"""Samples of trajectories: merged steps where they replay, boxes and points in picture pixels."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from hisa.actions import points, to_source, to_space
from hisa.errors import UsageError
from hisa.plugins.synthesis.data.samples import Provenance, Sample, SampledElement, Target
from hisa.plugins.synthesis.data.splits import keys_of
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory, TrajectoryStep
from hisa.plugins.synthesis.exploration import read_records
from hisa.runs.manifest import Manifest
from hisa.runs.read import read_manifest
from hisa.screen.geometry import Point, Size, convert, convert_box
from hisa.screen.observation import Element

__all__ = ["Builder", "Merge", "merges_in"]


class Merge(BaseModel):
    """The fields of a line of ``sequences.jsonl`` that samples are made with."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    run: str
    first: int = Field(validation_alias=AliasChoices("first", "first_step"))
    last: int = Field(validation_alias=AliasChoices("last", "last_step"))
    thought: str = Field(max_length=20_000)
    replayed: str = "not tried"


def merges_in(folders: Iterable[Path]) -> list[Merge]:
    """The merged steps of folders, none where nothing was compressed.

    Raises:
        UsageError: a file is damaged.
    """
    return [m for folder in folders for m in read_records(folder / "sequences.jsonl", Merge)]


@dataclass
class Builder:
    """Makes samples, and counts by the reason which steps and merges are left out."""

    licence: str = ""
    merges: Sequence[Merge] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    images: dict[str, Path] = field(default_factory=dict)
    """The picture files of the samples made so far, by name."""

    def samples(self, trajectory: Trajectory, copies: int = 1) -> Iterator[Sample]:
        """Yield the samples of a trajectory in order.

        Raises:
            UsageError: its manifest is damaged, or there is no licence for its task.
        """
        manifest = read_manifest(trajectory.folder)
        common: dict[str, Any] = {
            "instruction": trajectory.instruction,
            "keys": keys_of(manifest.task, trajectory.seed),
            "copies": copies,
            "provenance": self._provenance(trajectory, manifest),
        }
        for steps, thought in self._merged(trajectory):
            try:
                made = self._sample(steps, thought, common)
            except (ValueError, OSError, LookupError, TypeError):
                self.left_out["its picture or elements are damaged"] += 1
                continue
            if made is not None:
                yield made

    def _merged(self, trajectory: Trajectory) -> Iterator[tuple[list[TrajectoryStep], str]]:
        """Yield steps to take together, with their thought; failed ones are counted."""
        good = [step for step in trajectory.steps if not _unusable(step)]
        self.left_out.update(filter(None, map(_unusable, trajectory.steps)))
        own = [m for m in self.merges if m.run == trajectory.id and m.last > m.first]
        merges = {m.first: m for m in own if m.replayed == "same"}
        reasons = (m.replayed for m in own if m.replayed != "same")
        self.left_out.update(f"a merge was not used: replayed, {r}"[:80] for r in reasons)
        while good:
            merge = merges.get(good[0].number)
            steps = [s for s in good if merge and s.number <= merge.last]
            if (
                merge
                and len(steps) == merge.last - merge.first + 1
                and all(s.actions for s in steps)
            ):
                yield steps, merge.thought
            else:
                steps = good[:1]
                yield steps, steps[0].thought
            del good[: len(steps)]

    def _sample(
        self, steps: Sequence[TrajectoryStep], thought: str, common: dict[str, Any]
    ) -> Sample | None:
        first, last = steps[0], steps[-1]
        look, run = first.before, common["provenance"].run
        with Image.open(look.image, formats=("PNG",)) as file:
            size = Size(*file.size)
        actions = [action for step in steps for action in step.actions]
        if actions:
            shown = to_space(actions, "image", image=size, screen=look.size)
            action = to_source(shown)
        else:
            action = f"{first.tool}({json.dumps(first.input, ensure_ascii=False)})"
        for one in (look, last.after):
            if one is not None:
                self.images[one.image.stem] = one.image
        return Sample(
            id=f"{run}/{first.number}", thought=thought, action=action,
            tool="gui_action" if actions else first.tool, image=look.image.stem,
            after=last.after.image.stem if last.after else "", size=(size.width, size.height),
            screen=(look.size.width, look.size.height), window=look.window,
            elements=tuple(_visible(look, size)), targets=tuple(_targets(steps, size)),
            step=first.number, last=last.number, ends=last.ends, **common,
        )  # fmt: skip

    def _provenance(self, trajectory: Trajectory, manifest: Manifest) -> Provenance:
        task = manifest.task
        if not (licence := self.licence or _own_licence(task.folder)):
            raise UsageError(
                f"{trajectory.id}: its task {task.id!r} names no licence",
                fix="--licence NAME, such as CC-BY-4.0",
            )
        return Provenance(
            run=trajectory.id, task=task.id, source=task.format or task.benchmark or "own",
            model=trajectory.policy, machine=manifest.environment,
            hisa=manifest.versions.get("hisa", ""), licence=licence, score=trajectory.score,
        )  # fmt: skip


def _unusable(step: TrajectoryStep) -> str:
    """Returns the reason for leaving a step out; empty where there is none."""
    if not step.ok:
        return "the act failed"
    if step.tool == "gui_action" and not step.actions and not step.ends:
        return "its place was not found"
    return "" if step.thought.strip() else "it has no thought"


def _own_licence(folder: str) -> str:
    """The licence that ``provenance.json`` beside a task names; empty where none does."""
    path = Path(folder) / "provenance.json"
    try:
        plain = json.loads(path.read_bytes()) if folder and path.is_file() else {}
    except (OSError, ValueError):
        return ""
    return str(plain.get("licence", ""))[:200] if isinstance(plain, dict) else ""


def _visible(look: Look, size: Size) -> Iterator[SampledElement]:
    """The elements that lie on the picture and say something."""
    for element in look.elements[:5_000]:
        box = convert_box(element.box, "image", screen=look.size, image=size)
        inside = box.left >= -1 and box.top >= -1
        inside = inside and box.right <= size.width + 1 and box.bottom <= size.height + 1
        if inside and box.width >= 1 and box.height >= 1 and (element.name or element.text):
            yield _plain(element, look, size)


def _plain(element: Element, look: Look, size: Size) -> SampledElement:
    box = convert_box(element.box, "image", screen=look.size, image=size)
    sides = tuple(round(side, 1) for side in (box.left, box.top, box.right, box.bottom))
    values = {"role": element.role, "name": element.name[:2_000], "text": element.text[:2_000]}
    return SampledElement.model_validate({**values, "box": sides})


def _targets(steps: Sequence[TrajectoryStep], size: Size) -> Iterator[Target]:
    for step in steps:
        places = points(step.actions)
        words = step.descriptions if len(step.descriptions) == len(places) else ("",) * len(places)
        for point, description in zip(places, words, strict=True):
            look = steps[0].before
            shown: Point = convert(point, "image", screen=look.size, image=size)
            element = look.element_at(point)
            yield Target(
                point=(round(shown.x, 1), round(shown.y, 1)), description=description,
                element=element and _plain(element, look, size),
            )  # fmt: skip
