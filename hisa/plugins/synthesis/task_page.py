"""The page of an exploration: tasks that were proved and how, what was refused, what acts changed.

Works with what there is: an exploration alone, candidates without proofs, some of both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from hisa.plugins.synthesis.cards_page import Card, Mark, Page, Section, Shot, write_page
from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.records import Change, Triple
from hisa.plugins.synthesis.task_files import act_in_words, main_triple
from hisa.plugins.synthesis.task_records import Candidate, Proof

__all__ = ["Shown", "candidates_shown", "write_tasks"]

_MOST = 250  # acts on the page, those with a lasting effect first
_NOTE = """Proved: the check fails at the start, passes at the end, fails once that is undone, comes
out the same on a fresh desktop, fails for near misses and passes for another right way. Pictures
are from the exploration, where earlier acts may show; every proof began at a fresh start."""


class Shown(NamedTuple):
    """A candidate with all that is known of it."""

    candidate: Candidate
    proof: Proof | None
    triple: Triple | None

    @property
    def reason(self) -> str:
        """Returns why it is refused."""
        return self.proof.reason if self.proof else ""


def candidates_shown(exploration: Exploration) -> list[Shown]:
    """The candidates of an exploration, each with its last proof; the proved ones come first.

    Raises: UsageError where a file is damaged.
    """
    folder = exploration.folder
    proofs = {one.candidate: one for one in read_records(folder / "proofs.jsonl", Proof)}
    candidates = {one.id: one for one in read_records(folder / "candidates.jsonl", Candidate)}
    known = []
    for key, written in candidates.items():
        candidate = (key in proofs and proofs[key].completed) or written
        known.append(Shown(candidate, proofs.get(key), main_triple(exploration, candidate)))
    return sorted(known, key=lambda one: (one.proof is None, one.proof and not one.proof.proved))


def write_tasks(
    exploration: Exploration, known: Sequence[Shown], numbers: Mapping[str, Any]
) -> Path:
    """Write ``tasks.html``: those of `candidates_shown`, and the sums that ``prove`` prints.

    Raises: OSError where it cannot be written.
    """
    tried = [one for one in known if one.proof]
    proved = [_task_card(exploration, one) for one in tried if one.proof and one.proof.proved]
    refused = sorted(
        (one for one in tried if one.proof and not one.proof.proved), key=lambda one: one.reason
    )
    sections = [Section("Tasks", proved)]
    for reason, alike in groupby(refused, key=lambda one: one.reason):
        cards = [_task_card(exploration, one) for one in alike]
        sections.append(Section(f"refused: {reason}", cards, folded=True))
    waiting = [Card(one.candidate.instruction) for one in known if not one.proof]
    sections.append(Section("waiting for a proof", waiting, folded=True))
    effective = [one for one in exploration.triples if one.differences and not one.failed]
    effective.sort(key=lambda one: not one.differences.facts)
    acts = [_act_card(exploration, one) for one in effective[:_MOST]]
    sections.append(Section("What acts changed", acts))
    tiles = {
        "acts done": len(exploration.triples),
        "states": len(exploration.states),
        "candidates": numbers["candidates"],
        "proved: these are tasks": numbers["proved"],
        "refused": numbers["tried"] - numbers["proved"],
        "not tried yet": numbers["candidates"] - numbers["tried"],
        f"near misses that the check told, of {numbers['mutants']['of']}": numbers["mutants"][
            "killed"
        ],
    }
    title = f"Tasks of {exploration.subject.title}"
    page = Page("HiSA synth", title, tiles, _NOTE, sections)
    images = {state.image: exploration.picture(state) for state in exploration.states.values()}
    return write_page(page, exploration.folder / "tasks.html", images)


def _task_card(exploration: Exploration, one: Shown) -> Card:
    candidate, proof = one.candidate, one.proof
    parts = {
        "Check": [*map(_in_words, candidate.changes)] or [*map(json.dumps, candidate.check)],
        "Reference": [act_in_words(act) for act in candidate.acts],
    }
    note = f"{candidate.id}, written by {candidate.writer}"
    if proof:
        note += f", tried for {proof.seconds:.0f} s on {proof.desktops} desktops"
        parts |= {
            "Proof": [*_stages(proof)],
            "Near misses: the check must fail": [
                f"{'fails' if miss.killed else 'PASSES'}: {miss.kind}: {miss.detail}"
                for miss in proof.mutants
            ],
            "Other right ways: the check must pass for one": [
                f"{'passes' if way.passed else 'does not pass'}: {way.kind}: {way.detail}"
                for way in proof.other_ways
            ],
        }
    shots = _shots(exploration, one.triple) if one.triple else ()
    return Card(candidate.instruction, note, shots, parts)


def _stages(proof: Proof) -> Iterator[str]:
    for stage in proof.stages:
        score = "no score" if stage.score is None else f"score {stage.score:g}"
        yield f"{stage.name}: {score}, {'as it must be' if stage.held else 'NOT as it must be'}"
        if stage.detail and not stage.held:
            yield stage.detail
    if proof.undone_by:
        yield f"undone by {proof.undone_by}"
    if proof.equivalent or proof.not_done:
        yield f"{proof.equivalent} more came to the right end, {proof.not_done} could not be done"


def _act_card(exploration: Exploration, triple: Triple) -> Card:
    lines = [_in_words(change) for change in triple.differences.facts[:6]]
    for change in triple.differences.elements[:4]:
        values = f"{change.before!r} → {change.after!r}"
        what = change.what if change.what in ("came", "went") else values
        lines.append(f"{change.role} “{change.name}”: {what}")
    note = f"triple {triple.number}{', saved afterwards' if triple.saved else ''}"
    return Card(act_in_words(triple.act), note, _shots(exploration, triple), {"Changed": lines})


def _in_words(change: Change) -> str:
    before, after = ("nothing" if v is None else v[-90:] for v in (change.before, change.after))
    return f"{' '.join(change.fact)}: {before} → {after}"


def _shots(exploration: Exploration, triple: Triple) -> list[Shot]:
    shots = []
    for label, key in (("before", triple.before), ("after", triple.after)):
        if state := exploration.states.get(key):
            box = triple.box if label == "before" else None
            marks: list[Mark] = [("target", box)] if box else []
            shots.append(Shot(label, state.image, state.size, marks))
    return shots
