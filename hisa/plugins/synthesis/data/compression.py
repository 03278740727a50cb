"""Compresses runs: merges their actions, and replays the result (OS-Catalyst, 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from hisa.errors import ActionRefused, ConfigError, EnvironmentFailed, PluginFailed, UsageError
from hisa.machine.storage import AppendOnlyFile
from hisa.plugins.synthesis.data.atoms import (
    Atom,
    Pair,
    Refusal,
    atoms_of,
    check_pairs,
    merge,
)
from hisa.plugins.synthesis.data.sequence_replay import Player, Replayed, Verdict
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory
from hisa.plugins.synthesis.exploration import append_record, keep_look
from hisa.plugins.synthesis.records import Record
from hisa.protocols import Environment
from hisa.runs.run_reader import load_run
from hisa.screen.observation import Observation

__all__ = ["CompressedRun", "SequenceRecord", "compress", "compress_all", "summary", "with_looks"]


class SequenceRecord(Record):
    """A step of a compressed run: one action, or several (``kinds``) decided on one look.

    ``thought`` joins those of its steps; ``detail`` says why ``replayed`` is not "same".
    """

    run: str
    first_step: int
    last_step: int
    kinds: tuple[str, ...]
    thought: str
    replayed: Replayed = "not tried"
    detail: str = ""

    @property
    def count(self) -> int:
        """The number of its actions."""
        return len(self.kinds)

    @property
    def is_learnable(self) -> bool:
        """Whether it may be learned from as one step; if not, only its single actions may."""
        return self.count == 1 or self.replayed == "same"


class CompressedRun(Record):
    """A compressed run, or why it was left out: a line of ``DIR/compressed.jsonl``.

    ``steps`` counts the steps of the log that act on the screen.
    """

    run: str
    left_out: str = ""
    steps: int = 0
    sequences: tuple[SequenceRecord, ...] = ()
    pairs: tuple[Pair, ...] = ()
    plays: int = 0


async def compress_all(
    left: Sequence[Trajectory],
    runs: list[CompressedRun],
    out: Path,
    tell: Callable[[str], None],
) -> int:
    """Compresses runs one after the other; returns how many were left because a machine broke.

    Args:
        left: the runs to compress.
        runs: gets each compressed run.
        out: folder whose ``compressed.jsonl`` gets them too.
        tell: gets a line of progress after each run.
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
                broken, outcome = broken + 1, f"left, since a machine broke: {error}"
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
    """Compresses one run; if that is not possible, the result says why it was left out.

    Args:
        trajectory: of the run.
        folder: its subfolder ``looks`` gets the looks that the log lacks.
        without: checks that are ignored.
        most: K of the paper, the atoms of the longest sequence.
        environment: a started one to replay on; None: one by the run's settings.

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
    except (UsageError, ConfigError, PluginFailed, ActionRefused, OSError, ValueError) as error:
        return CompressedRun(run=trajectory.id, left_out=str(error)[:300])
    judged = zip(parts, verdicts, strict=True)
    return CompressedRun(
        run=run.id,
        steps=len({atom.step for atom in atoms if atom.actions}),
        sequences=tuple(
            _sequence(trajectory, part, verdict) for part, verdict in judged if part[0].actions
        ),
        pairs=tuple(pairs),
        plays=len(player.played),
    )


async def with_looks(atoms: list[Atom], player: Player, folder: Path) -> list[Atom]:
    """Returns the atoms with a look before and after each.

    Args:
        atoms: of the run, in order.
        player: replays the run if the log lacks a look.
        folder: gets the looks of the replay.

    Raises:
        UsageError: the replay does not end as the run did.
    """
    looks = [atom.before for atom in atoms]
    if None in looks:
        ending = await player.play_singly([tuple(atoms)])
        if not player.reproduced:
            raise UsageError("looks are missing, and a replay of the run ends differently")
        look_pairs = zip(looks, ending.looks, strict=True)
        looks = [look or _keep_look(observation, folder) for look, observation in look_pairs]
    around = zip(atoms, looks, [*looks[1:], None], strict=False)
    return [replace(atom, before=look, after=atom.after or last) for atom, look, last in around]


def _keep_look(observation: Observation, folder: Path) -> Look:
    folder.mkdir(parents=True, exist_ok=True)
    image, elements = keep_look(observation, folder, folder)
    return Look(
        image, observation.screen, observation.active.title if observation.active else "", elements
    )


def _sequence(trajectory: Trajectory, part: Sequence[Atom], verdict: Verdict) -> SequenceRecord:
    thoughts = {step.number: step.thought for step in trajectory.steps}
    return SequenceRecord(
        run=trajectory.id,
        first_step=part[0].step,
        last_step=part[-1].step,
        kinds=tuple(atom.kind for atom in part),
        thought=" ".join(thoughts[number] for number in dict.fromkeys(a.step for a in part)),
        replayed=verdict[0],
        detail=verdict[1],
    )


def summary(runs: Sequence[CompressedRun]) -> dict[str, Any]:
    """Returns the numbers of the paper's table 1 and figure 3, and counts of pairs and sequences.

    A merged sequence that is not learnable counts as its single actions.
    """
    sequences = [sequence for run in runs for sequence in run.sequences]
    merged = [sequence for sequence in sequences if sequence.count > 1]
    lengths = [n for s in sequences for n in ([s.count] if s.is_learnable else [1] * s.count)]
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
        "replayed": dict(Counter(sequence.replayed for sequence in merged)),
        "plays": sum(run.plays for run in runs),
    }
