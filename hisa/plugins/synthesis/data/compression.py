"""Compression of runs: merged, given thoughts, and played again (OS-Catalyst, 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from hisa.errors import ActionRefused, ConfigError, EnvironmentFailed, PluginFailed, UsageError
from hisa.machine.storage import AppendOnlyFile, replace_file
from hisa.plugins.synthesis.data.atoms import Atom, Pair, Refusal, atoms_of, check_pairs, merge
from hisa.plugins.synthesis.data.sequence_replay import Player, Replayed, Verdict
from hisa.plugins.synthesis.data.thoughts import rule_thought
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory
from hisa.plugins.synthesis.exploration import append_record, keep_look
from hisa.protocols import Environment
from hisa.runs.read import load_run
from hisa.screen.observation import Observation

__all__ = ["AtomRecord", "CompressedRun", "SequenceRecord", "compress", "compress_all"]
__all__ += ["summary", "with_looks"]


class AtomRecord(BaseModel, frozen=True):
    """One action: its step of the run, its source in screen pixels, its thought."""

    step: int
    kind: str
    source: str
    thought: str


class SequenceRecord(BaseModel, frozen=True):
    """A step of a compressed run: one action, or several (``count``) decided on one look.

    ``image`` and ``elements`` are the hashes of that look: files of the run, or of ``DIR/looks``.
    ``detail`` tells why ``replayed`` is not "same".
    """

    run: str
    first_step: int
    last_step: int
    count: int
    thought: str
    image: str
    elements: str
    atoms: tuple[AtomRecord, ...]
    replayed: Replayed = "not tried"
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Whether it may be learned from; else only its atoms may."""
        return self.count == 1 or self.replayed == "same"


class CompressedRun(BaseModel, frozen=True):
    """A run that is done with, a line of ``DIR/compressed.jsonl``; or why it was left out.

    ``steps`` are those of the log that act on the screen.
    """

    run: str
    left_out: str = ""
    steps: int = 0
    sequences: tuple[SequenceRecord, ...] = ()
    pairs: Sequence[Pair] = ()
    plays: int = 0


async def compress_all(
    left: Sequence[Trajectory],
    runs: list[CompressedRun],
    out: Path,
    tell: Callable[[str], None],
) -> int:
    """Compress runs one after the other; how many were left because a machine broke.

    Each that is done goes to ``runs`` and to the folder ``out``.
    """
    file, broken = AppendOnlyFile(out / "compressed.jsonl"), 0
    with closing(file):
        for number, trajectory in enumerate(left, 1):
            try:
                run = await compress(trajectory, out)
                outcome = run.left_out or f"{len(run.sequences)} steps"
                append_record(file, run)
                runs.append(run)
            except EnvironmentFailed as error:
                broken, outcome = broken + 1, f"a machine broke, so it is left: {error}"
            lines = [s.model_dump_json() + "\n" for run in runs for s in run.sequences]
            replace_file(out / "sequences.jsonl", "".join(lines).encode())
            tell(f"{number}/{len(left)}  {trajectory.task}: {outcome}"[:200])
    return broken


async def compress(
    trajectory: Trajectory,
    folder: Path,
    *,
    without: Collection[Refusal] = (),
    most: int = 5,
    environment: Environment | None = None,
) -> CompressedRun:
    """Compress one run: K is ``most``, and the folder's ``looks`` gets the looks that it lacks.

    Raises:
        EnvironmentFailed: a machine broke.
    """
    run = load_run(trajectory.folder)
    try:
        async with Player(run, trajectory.steps[-1].after, environment) as player:
            atoms = await with_looks(atoms_of(trajectory, run), player, folder / "looks")
            pairs = check_pairs(atoms)
            parts = merge(atoms, pairs, most, without)
            verdicts = await player.verdicts(parts)
        sequences = _sequences(trajectory, parts, verdicts)
    except (UsageError, ConfigError, PluginFailed, ActionRefused, OSError, ValueError) as error:
        return CompressedRun(run=trajectory.id, left_out=str(error)[:300])
    acting = tuple(one for one in sequences if one.atoms[0].source)
    steps, plays = len({atom.step for atom in atoms if atom.actions}), len(player.played)
    return CompressedRun(
        run=run.id,
        steps=steps,
        sequences=acting,
        pairs=pairs,
        plays=plays,
    )


async def with_looks(atoms: list[Atom], player: Player, folder: Path) -> list[Atom]:
    """The atoms with a look before and after each, kept in a folder where the log lacks it.

    UsageError: played again for a look, the run ends otherwise.
    """
    looks = [atom.before for atom in atoms]
    if None in looks:
        ending = await player.alone([tuple(atoms)])
        if not player.reproduced:
            raise UsageError("looks are lacking, and played again it ends otherwise")
        both = zip(looks, ending.looks, strict=True)
        looks = [look or _kept(seen, folder) for look, seen in both]
    around = zip(atoms, looks, [*looks[1:], None], strict=False)
    return [replace(atom, before=look, after=atom.after or last) for atom, look, last in around]


def _kept(look: Observation, folder: Path) -> Look:
    folder.mkdir(parents=True, exist_ok=True)
    image, elements = keep_look(look, folder, folder)
    return Look(image, look.screen, look.active.title if look.active else "", elements)


def _sequences(
    trajectory: Trajectory,
    parts: Sequence[tuple[Atom, ...]],
    verdicts: Sequence[Verdict],
) -> list[SequenceRecord]:
    records: list[SequenceRecord] = []
    for part, (replayed, detail) in zip(parts, verdicts, strict=True):
        atoms = [
            AtomRecord(
                step=atom.step, kind=atom.kind, source=atom.source, thought=rule_thought([atom])
            )
            for atom in part
        ]
        look = part[0].before
        files = (look.image, look.elements_path) if look else (None, None)
        image, elements = (file.stem if file else "" for file in files)
        records.append(
            SequenceRecord(
                run=trajectory.id,
                first_step=part[0].step,
                last_step=part[-1].step,
                count=len(part),
                thought=rule_thought(part),
                image=image,
                elements=elements,
                atoms=tuple(atoms),
                replayed=replayed,
                detail=detail,
            )
        )
    return records


def summary(runs: Sequence[CompressedRun]) -> dict[str, Any]:
    """Table 1, figure 3, and what became of pairs and merged sequences.

    A sequence that is not kept counts as its atoms.
    """
    sequences = [sequence for run in runs for sequence in run.sequences]
    merged = [sequence for sequence in sequences if sequence.count > 1]
    lengths = [n for s in sequences for n in ([s.count] if s.kept else [1] * s.count)]
    refused = [check for run in runs for pair in run.pairs for check in pair.refusals]
    return {
        "trajectories": sum(bool(run.sequences) for run in runs),
        "without_actions": sum(not run.sequences and not run.left_out for run in runs),
        "left_out": dict(Counter(run.left_out for run in runs if run.left_out)),
        "steps": sum(run.steps for run in runs),
        "actions": sum(lengths),
        "compressed_steps": len(lengths),
        "actions_a_step": round(sum(lengths) / max(1, len(lengths)), 2),
        "lengths": dict(sorted(Counter(lengths).items())),
        "pairs": sum(len(run.pairs) for run in runs),
        "refused": dict(Counter(refused)),
        "merged": len(merged),
        "replayed": dict(Counter(one.replayed for one in merged)),
        "plays": sum(run.plays for run in runs),
    }
