"""Lines about an exploration's tasks: which were proved and how, and why others were refused.

There may be candidates without proofs, or no candidates yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.records import Candidate, Change, Proof
from hisa.plugins.synthesis.task_files import act_in_words, main_triple

__all__ = ["list_candidates", "task_lines"]

CandidateProof = tuple[Candidate, Proof | None]


def list_candidates(exploration: Exploration) -> list[CandidateProof]:
    """Returns the candidates of an exploration with their last proofs, the proved ones first.

    Raises: UsageError if a file is damaged.
    """
    folder = exploration.folder
    proofs = {proof.candidate: proof for proof in read_records(folder / "proofs.jsonl", Proof)}
    candidates = {
        candidate.id: candidate
        for candidate in read_records(folder / "candidates.jsonl", Candidate)
    }
    shown = [(candidate, proofs.get(key)) for key, candidate in candidates.items()]
    return sorted(shown, key=lambda pair: (pair[1] is None, pair[1] and not pair[1].proved))


def task_lines(exploration: Exploration, written: Candidate, proof: Proof | None) -> Iterator[str]:
    """Yields lines about a candidate: pictures, check, reference and proof.

    Args:
        exploration: that it was made from.
        written: the candidate, as it was written.
        proof: its last proof; None if it has none.

    Yields:
        Lines to print; they may have texts of screens, which are not trusted.
    """
    candidate = (proof and proof.completed) or written
    outcome = "not tried yet" if proof is None else "proved" if proof.proved else "refused"
    yield f"{candidate.id}: {outcome}: {candidate.instruction}"
    if proof and proof.reason:
        yield f"  because: {proof.reason}"
    if triple := main_triple(exploration, candidate):
        shown = (exploration.states.get(key) for key in (triple.before, triple.after))
        pictures = (str(exploration.picture(state)) for state in shown if state)
        yield f"  pictures before and after its last act: {', '.join(pictures)}"
    for check in [*map(_in_words, candidate.changes)] or [*map(json.dumps, candidate.check)]:
        yield f"  check: {check}"
    for act in candidate.acts:
        yield f"  act: {act_in_words(act)}"
    yield from _proof_lines(proof) if proof else ()


def _proof_lines(proof: Proof) -> Iterator[str]:
    for stage in proof.stages:
        score = "no score" if stage.score is None else f"score {stage.score:g}"
        held = "as expected" if stage.held else f"NOT as expected: {stage.detail}"
        yield f"  {stage.name}: {score}, {held}"
    if proof.undone_by:
        yield f"  undone by {proof.undone_by}"
    for miss in proof.mutants:
        yield f"  near miss {'fails' if miss.killed else 'PASSES'}: {miss.kind}: {miss.detail}"
    for way in proof.other_ways:
        passed = "passes" if way.passed else "does not pass"
        yield f"  other way {passed}: {way.kind}: {way.detail}"
    if proof.equivalent or proof.not_done:
        counts = (
            f"{proof.equivalent} more reached the right end, {proof.not_done} could not be done"
        )
        yield f"  near misses not counted: {counts}"


def _in_words(change: Change) -> str:
    before, after = ("nothing" if v is None else v[-90:] for v in (change.before, change.after))
    return f"{' '.join(change.fact)}: {before} → {after}"
