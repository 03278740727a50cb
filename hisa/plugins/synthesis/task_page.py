"""The page of tasks: what was proved and how, what was refused and why.

Works with what there is: an exploration alone, candidates without proofs, some of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hisa.plugins.synthesis.checks import in_words
from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.graph_page import write_page
from hisa.plugins.synthesis.lint import lint
from hisa.plugins.synthesis.make_candidates import names_of
from hisa.plugins.synthesis.records import Triple
from hisa.plugins.synthesis.task_files import main_triple
from hisa.plugins.synthesis.task_records import Candidate, Proof

__all__ = ["Shown", "candidates_shown", "write_tasks"]

_MOST = 300  # tasks with pictures on the page, the proved ones first; the others have none


class Shown(NamedTuple):
    """A candidate with all that is known of it; ``marks`` are those of `lint`."""

    candidate: Candidate
    proof: Proof | None
    triple: Triple | None
    marks: list[str]


def candidates_shown(exploration: Exploration) -> list[Shown]:
    """The candidates of an exploration, each with its last proof; the proved ones come first.

    Raises: UsageError where a file is damaged.
    """
    folder, documents = exploration.folder, exploration.subject.documents
    proofs = {one.candidate: one for one in read_records(folder / "proofs.jsonl", Proof)}
    candidates = {one.id: one for one in read_records(folder / "candidates.jsonl", Candidate)}
    known = []
    for key, written in candidates.items():
        candidate = (key in proofs and proofs[key].completed) or written
        names = names_of(exploration, candidate.acts)
        text, changes = candidate.instruction, candidate.changes
        marks = lint(text, changes=changes, documents=documents, names=names)
        main = main_triple(exploration, candidate)
        known.append(Shown(candidate, proofs.get(key), main, marks))
    return sorted(known, key=lambda one: (one.proof is None, one.proof and not one.proof.proved))


def write_tasks(
    exploration: Exploration, known: Sequence[Shown], numbers: Mapping[str, Any]
) -> Path:
    """Write ``tasks.html``: those of `candidates_shown`, and the sums that ``prove`` prints.

    Raises: OSError where it cannot be written.
    """
    triples = [one.triple for one in known[:_MOST] if one.triple and one.proof]
    return write_page(
        exploration,
        "tasks",
        triples,
        (800, 450),
        numbers=numbers,
        known=known,
        in_words=in_words,
        counted=_counted,
    )


def _counted(detail: str) -> str:
    return re.sub(r"\b1 (fact|element)s\b", r"1 \1", detail)
