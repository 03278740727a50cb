"""The page of tasks: what was proved and how, what was refused and why.

Works with what there is: an exploration alone, candidates without proofs, some of both.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.graph_page import pages, scaled
from hisa.plugins.synthesis.lint import lint
from hisa.plugins.synthesis.records import Triple
from hisa.plugins.synthesis.task_files import as_yaml, main_triple
from hisa.plugins.synthesis.task_records import Candidate, Proof

__all__ = ["Shown", "TaskNumbers", "candidates_shown", "task_numbers", "write_tasks"]

_EXAMPLES = 4
"""Refused candidates that are shown for a reason."""
_MOST = 300
"""Tasks on the page; all are counted."""
_SIZE = (800, 450)
"""Width and height of the pictures at most, in pixels."""


class Shown(NamedTuple):
    """A candidate with all that is known of it."""

    candidate: Candidate
    proof: Proof | None
    triple: Triple | None
    warnings: list[str]

    @property
    def check(self) -> str:
        """The checks, as a task file has them."""
        return as_yaml([dict(one) for one in self.candidate.check]).strip()


class TaskNumbers(NamedTuple):
    """Counts of one exploration's candidates. ``refused`` is by reason."""

    candidates: int
    proved: int
    not_tried: int
    refused: dict[str, int]
    mutants: int
    mutants_killed: int
    other_ways: int
    other_ways_passed: int


def candidates_shown(exploration: Exploration) -> list[Shown]:
    """The candidates of an exploration, each with its last proof.

    Raises:
        UsageError: a file is damaged.
    """
    folder = exploration.folder
    proofs = {one.candidate: one for one in read_records(folder / "proofs.jsonl", Proof)}
    candidates = read_records(folder / "candidates.jsonl", Candidate)
    return [
        Shown(
            candidate,
            proofs.get(candidate.id),
            main_triple(exploration, candidate),
            lint(
                candidate.instruction,
                changes=candidate.changes,
                documents=exploration.subject.documents,
            ),
        )
        for candidate in {one.id: one for one in candidates}.values()
    ]


def task_numbers(known: list[Shown]) -> TaskNumbers:
    """Counts over candidates."""
    proofs = [one.proof for one in known if one.proof]
    refused: dict[str, int] = defaultdict(int)
    for proof in proofs:
        if not proof.proved:
            refused[proof.reason or "no reason"] += 1
    mutants = [mutant for proof in proofs for mutant in proof.mutants if proof.proved]
    ways = [way for proof in proofs for way in proof.other_ways if proof.proved]
    return TaskNumbers(
        len(known),
        sum(proof.proved for proof in proofs),
        len(known) - len(proofs),
        dict(sorted(refused.items(), key=lambda item: -item[1])),
        len(mutants),
        sum(mutant.killed for mutant in mutants),
        len(ways),
        sum(way.passed for way in ways),
    )


def write_tasks(exploration: Exploration, known: list[Shown]) -> Path:
    """Write ``tasks.html`` into the exploration's folder.

    Raises:
        OSError: it cannot be written.
    """
    proved = [one for one in known if one.proof and one.proof.proved]
    refused: dict[str, list[Shown]] = defaultdict(list)
    for one in known:
        if one.proof and not one.proof.proved:
            refused[one.proof.reason or "no reason"].append(one)
    examples = [one for alike in refused.values() for one in alike[:_EXAMPLES]]
    names = [
        name
        for one in (*proved[:_MOST], *examples)
        if one.triple
        for name in (one.triple.before, one.triple.after)
        if name in exploration.states
    ]
    states = [exploration.states[name] for name in names]
    page = (
        pages()
        .get_template("task_page.html.j2")
        .render(
            exploration=exploration,
            numbers=task_numbers(known),
            proved=proved[:_MOST],
            refused=refused,
            examples=_EXAMPLES,
            waiting=[one for one in known if one.proof is None],
            pictures=scaled({one.image: exploration.picture(one) for one in states}, _SIZE),
        )
    )
    path = exploration.folder / "tasks.html"
    replace_file(path, page.encode("utf-8", "replace"))
    return path
