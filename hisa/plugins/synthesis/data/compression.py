"""Compression of runs: merged, given thoughts, played again, written down (OS-Catalyst, 3.2).

``DIR/sequences.jsonl`` has the steps of the compressed runs, ``DIR/compressed.jsonl`` a line for
each run that is done, ``DIR/looks`` the looks that the runs themselves lack.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from hisa.errors import UsageError
from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.data.atoms import Atom, atoms_of
from hisa.plugins.synthesis.data.merge_checks import Check, Pair, Refusal, check_pair, merge
from hisa.plugins.synthesis.data.sequence_replay import Player, Replayed
from hisa.plugins.synthesis.data.thoughts import atom_thought, sequence_thought
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory
from hisa.plugins.synthesis.model_instructions import Writer
from hisa.runs.kept_elements import plain_element
from hisa.runs.read import load_run
from hisa.screen.observation import Observation

__all__ = ["MOST", "AtomRecord", "CompressedRun", "SequenceRecord", "compress", "summary"]
__all__ += ["verdicts"]

MOST = 5
"""K, the actions of a sequence at most."""
_Verdict = tuple[Replayed, str]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AtomRecord(_Record):
    """One action: its step of the run, its source in screen pixels, its thought, its target."""

    step: int
    kind: str
    source: str
    thought: str
    role: str = ""
    name: str = ""
    box: tuple[float, float, float, float] | None = None


class SequenceRecord(_Record):
    """A step of a compressed run: one action, or several that are decided on one look.

    ``image`` and ``elements`` are the hashes of that look: files of the run, or of ``DIR/looks``.
    """

    run: str
    first_step: int
    last_step: int
    count: int
    """Its atoms."""
    thought: str
    writer: str
    """"rules", or the model's name."""
    image: str
    elements: str
    atoms: tuple[AtomRecord, ...]
    replayed: Replayed = "not tried"
    detail: str = ""
    """In what a play differed that did not end the same."""
    refused_before: tuple[Refusal, ...] = ()
    """By which checks the pair at its beginning was refused; none: it was full, or is the first."""
    refused_after: tuple[Refusal, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether it may be learned from; else its atoms alone may."""
        return self.count == 1 or self.replayed == "same"


class CompressedRun(_Record):
    """A run that is done with; ``left_out`` says why it has no sequences."""

    run: str
    task: str
    left_out: str = ""
    steps: int = 0
    """Steps of the log that act on the screen."""
    atoms: int = 0
    sequences: int = 0
    pairs: tuple[Pair, ...] = ()
    reproduced: bool | None = None
    """Whether its own acts end with its score again; None: not played."""
    plays: int = 0
    seconds: float = 0.0


async def compress(
    trajectory: Trajectory, folder: Path, writer: Writer | None = None, *,
    without: Collection[Check] = (), most: int = MOST,
) -> tuple[CompressedRun, list[SequenceRecord]]:  # fmt: skip
    """Compress one run.

    Args:
        trajectory: the run.
        folder: gets looks that the run lacks.
        writer: of the thoughts; None: rules.
        without: checks that are switched off.
        most: actions of a sequence.

    Raises:
        EnvironmentFailed: a machine broke.
        BudgetExceeded, ModelUnavailable: from the model.
    """
    began, run = time.monotonic(), load_run(trajectory.folder)
    done = CompressedRun(run=trajectory.id, task=trajectory.task)
    try:
        async with Player(run, trajectory.steps[-1].after) as player:
            atoms = await with_looks(atoms_of(trajectory, run), player, folder)
            pairs = [check_pair(at, *pair) for at, pair in enumerate(pairwise(atoms))]
            parts = merge(atoms, pairs, most, without)
            outcome = await verdicts(player, parts)
            sequences = await _sequences(trajectory, parts, pairs, outcome, writer)
    except (UsageError, OSError, ValueError) as error:
        return done.model_copy(update={"left_out": str(error)[:300]}), []
    acting = [sequence for sequence in sequences if sequence.atoms[0].source]
    counts = {
        "steps": len({atom.step for atom in atoms if not atom.tool}), "pairs": tuple(pairs),
        "atoms": sum(one.count for one in acting), "sequences": len(acting),
        "reproduced": player.reproduced, "plays": player.plays,
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    return done.model_copy(update=counts), acting


async def with_looks(atoms: list[Atom], player: Player, folder: Path) -> list[Atom]:
    """The atoms with a look before and after each; played where the log lacks one.

    Raises:
        UsageError: played again, the run ends otherwise.
        EnvironmentFailed: the machine broke.
    """
    if any(atom.before is None for atom in atoms):
        ending = await player.alone(atoms)
        if not player.reproduced:
            raise UsageError("looks are lacking, and played again it ends otherwise")
        atoms = [
            atom if atom.before else replace(atom, before=_kept(look, folder))
            for atom, look in zip(atoms, ending.looks, strict=True)
        ]
    following = [atom.before for atom in atoms[1:]]
    lasting = [*following, atoms[-1].after] if atoms else []
    return [replace(a, after=a.after or b) for a, b in zip(atoms, lasting, strict=True)]


def _kept(look: Observation, folder: Path) -> Look:
    plain = json.dumps([plain_element(one) for one in look.elements or ()]).encode()
    image = folder / "looks" / f"{look.screenshot.sha256}.png"
    elements = folder / "looks" / f"{hashlib.sha256(plain).hexdigest()}.json"
    image.parent.mkdir(parents=True, exist_ok=True)
    replace_file(image, look.screenshot.png)
    replace_file(elements, plain)
    return Look(image, look.screen, look.active.title if look.active else "", elements)


async def verdicts(player: Player, parts: Sequence[tuple[Atom, ...]]) -> dict[int, _Verdict]:
    """For each merged part what came of it, by its place: played together, else each by itself.

    Raises:
        EnvironmentFailed: a machine broke.
    """
    many = [at for at, part in enumerate(parts) if len(part) > 1]
    if not many:
        return {}
    whole = await player.verdict(parts)
    if whole[0] == "same" or len(many) == 1 or not player.reproduced:
        return dict.fromkeys(many, whole)
    single = {at: await player.verdict(_only(parts, {at})) for at in many}
    same = {at for at, verdict in single.items() if verdict[0] == "same"}
    if len(same) > 1 and (kept := await player.verdict(_only(parts, same)))[0] != "same":
        single |= dict.fromkeys(same, kept)
    return single


def _only(parts: Sequence[tuple[Atom, ...]], kept: Collection[int]) -> list[tuple[Atom, ...]]:
    """The same atoms with only these parts merged."""
    whole = [[part] if at in kept else [(a,) for a in part] for at, part in enumerate(parts)]
    return [part for listed in whole for part in listed]


async def _sequences(
    trajectory: Trajectory, parts: Sequence[tuple[Atom, ...]], pairs: Sequence[Pair],
    outcome: dict[int, _Verdict], writer: Writer | None,
) -> list[SequenceRecord]:  # fmt: skip
    records: list[SequenceRecord] = []
    told: list[str] = []
    refusals: list[tuple[Refusal, ...]] = [(), *(pair.refusals for pair in pairs), ()]
    for at, part in enumerate(parts):
        start, written = len(told), []
        for atom in part:
            written.append((await atom_thought(writer, trajectory.instruction, told, atom))[0])
            told.append(written[-1])
        thought, by = await sequence_thought(writer, trajectory.instruction, part, written)
        look, (replayed, detail) = part[0].before, outcome.get(at, ("not tried", ""))
        kept = look.elements_path if look else None
        records.append(
            SequenceRecord(
                run=trajectory.id, first_step=part[0].step, last_step=part[-1].step,
                count=len(part), thought=thought, writer=by, replayed=replayed, detail=detail,
                image=look.image.stem if look else "", elements=kept.stem if kept else "",
                atoms=tuple(map(_record, part, written)),
                refused_before=refusals[start], refused_after=refusals[start + len(part)],
            )
        )  # fmt: skip
    return records


def _record(atom: Atom, thought: str) -> AtomRecord:
    target = atom.target
    plain: dict[str, Any] = {}
    if target is not None:
        box = target.box
        plain = {"role": target.role, "name": target.name[:200]}
        plain["box"] = (box.left, box.top, box.right, box.bottom)
    return AtomRecord(step=atom.step, kind=atom.kind, source=atom.source, thought=thought, **plain)


def summary(runs: Sequence[CompressedRun], sequences: Sequence[SequenceRecord]) -> dict[str, Any]:
    """Table 1, the lengths of figure 3, and what became of pairs and merged sequences.

    A sequence that did not replay to the same state counts as its atoms.
    """
    used = [run for run in runs if not run.left_out and run.atoms]
    atoms = sum(run.atoms for run in used)
    merged = [one for one in sequences if one.count > 1]
    pairs = [pair for run in used for pair in run.pairs]
    lengths = [n for s in sequences for n in ([s.count] if s.kept else [1] * s.count)]
    return {
        "trajectories": len(used),
        "left_out": dict(Counter(run.left_out for run in runs if run.left_out)),
        "without_actions": sum(not run.left_out and not run.atoms for run in runs),
        "steps": {
            "log": sum(run.steps for run in used),
            "atoms": atoms,
            "compressed": len(lengths),
        },
        "lengths": dict(sorted(Counter(lengths).items())),
        "kinds": dict(Counter(", ".join(a.kind for a in s.atoms) for s in merged if s.kept)),
        "pairs": len(pairs),
        "refused": dict(Counter(check for pair in pairs for check in pair.refusals)),
        "merged": len(merged),
        "replayed": dict(Counter(one.replayed for one in merged)),
        "plays": sum(run.plays for run in runs),
        "seconds": round(sum(run.seconds for run in runs), 1),
    }
