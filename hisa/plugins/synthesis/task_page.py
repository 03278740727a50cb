"""The page of tasks: what was proved and how, what was refused and why.

Works with what there is: an exploration alone, candidates without proofs, some of both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
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
    """Counts of one exploration's candidates: ``refused`` by reason, the rest of proved ones."""

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
    documents = exploration.subject.documents
    shown = []
    for one in {one.id: one for one in candidates}.values():
        warnings = lint(one.instruction, changes=one.changes, documents=documents)
        triple = main_triple(exploration, one)
        shown.append(Shown(one, proofs.get(one.id), triple, warnings))
    return shown


def task_numbers(known: list[Shown]) -> TaskNumbers:
    """Counts over candidates; the reason that refuses most comes first."""
    proofs = [one.proof for one in known if one.proof]
    proved = [proof for proof in proofs if proof.proved]
    refused = Counter(proof.reason or "no reason" for proof in proofs if not proof.proved)
    killed = [mutant.killed for proof in proved for mutant in proof.mutants]
    passed = [way.passed for proof in proved for way in proof.other_ways]
    untried = len(known) - len(proofs)
    sums = (len(killed), sum(killed), len(passed), sum(passed))
    return TaskNumbers(len(known), len(proved), untried, dict(refused.most_common()), *sums)


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
    triples = [one.triple for one in (*proved[:_MOST], *examples) if one.triple]
    names = dict.fromkeys(name for one in triples for name in (one.before, one.after))
    states = [exploration.states[name] for name in names if name in exploration.states]
    template = pages().get_template("task_page.html.j2")
    page = template.render(
        exploration=exploration,
        numbers=task_numbers(known),
        proved=proved[:_MOST],
        refused=refused,
        examples=_EXAMPLES,
        waiting=[one for one in known if one.proof is None],
        pictures=scaled({one.image: exploration.picture(one) for one in states}, _SIZE),
    )
    path = exploration.folder / "tasks.html"
    replace_file(path, page.encode("utf-8", "replace"))
    return path
