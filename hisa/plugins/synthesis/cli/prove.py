"""``hisa synth prove``: candidates done on real desktops, and what is kept of them."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import say, say_error
from hisa.errors import EnvironmentFailed, UsageError
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.config import EnvironmentSettings, TaskSettings
    from hisa.machine.storage import AppendOnlyFile
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.records import Candidate, Proof

__all__ = ["Queue", "prove", "say_sums", "sums"]

_TRIES = 2
"""Desktops that may break under one candidate before it is left for another time."""


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--workers", type=click.IntRange(1), default=1, metavar="N", help="Desktops; 1.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Prove so many at most, now.")
@click.pass_context
def prove(ctx: click.Context, /, folder: Path, **how: Any) -> int:
    """Prove the candidates of DIR by doing them, on desktops without a network.

    A candidate is proved where its check fails at the start, passes at the end, fails once that is
    undone, fails for three near misses, passes on a fresh desktop, and passes for another right
    way. Where the acts lead elsewhere, "hisa synth write" then writes the next longer way. Proofs
    go to DIR/proofs.jsonl as they come, tasks to DIR/tasks/ID. The same command goes on where it
    was stopped; a candidate whose desktop broke is tried again.

    \b
    hisa synth prove pads
    hisa synth prove pads --workers 2

    Exit status: 0 what was begun is proved or refused; 1 stopped; 3 desktops broke, some are left.
    """
    from hisa.plugins.synthesis.exploration import Exploration, run_alone

    machine = ctx.obj.environment
    if not machine.throw_away:
        raise UsageError(
            f"{machine.kind!r} keeps what each proof does to it",
            fix="--set environment.kind=desktop",
        )
    queue = Queue(Exploration.open(folder), machine, ctx.obj.tasks)

    async def work() -> bool:
        await queue.run(**how)
        return queue.left > 0

    if (left := run_alone(work, folder / ".prove.lock")) is None:
        say_error("stopped: what was in hand is lost, the same command goes on")
    say_sums(sums(queue.proofs, len(queue.candidates)))
    say(f"tasks: {folder / 'tasks'}; hisa synth show {folder}")
    return {None: 1, True: 3, False: 0}[left]


class Queue:
    """The candidates of an exploration, lasting ends first, and its proofs: ``DIR/proofs.jsonl``.

    Raises: UsageError where there are no candidates, or a file is damaged.
    """

    def __init__(
        self, exploration: Exploration, machine: EnvironmentSettings, tasks: TaskSettings
    ) -> None:
        from hisa.plugins.synthesis.exploration import read_records
        from hisa.plugins.synthesis.records import Candidate, Proof

        self._exploration = exploration
        self._machine, self._tasks = machine, tasks
        self._folder = folder = exploration.folder
        candidates = read_records(folder / "candidates.jsonl", Candidate)
        self.candidates = {one.id: one for one in candidates}
        if not candidates:
            raise UsageError(f"{folder}: no candidates yet", fix=f"hisa synth write {folder}")
        proofs = {one.candidate: one for one in read_records(folder / "proofs.jsonl", Proof)}
        self.proofs = [one for one in proofs.values() if one.candidate in self.candidates]
        self.left = 0
        """Candidates under which desktops broke, left for another time."""

    async def run(self, *, workers: int = 1, limit: int | None = None) -> None:
        """Prove what is waiting, in order; a proof is written down before anything is said of it.

        ``workers`` are desktops at once; at most ``limit`` candidates are begun. Raises:
        UsageError where the subject cannot be set up here.
        """
        from hisa.machine.storage import AppendOnlyFile

        known = {proof.candidate for proof in self.proofs}
        ordered = sorted(self.candidates.values(), key=lambda one: not one.changes)
        waiting = deque([one for one in ordered if one.id not in known][:limit])
        file = AppendOnlyFile(self._folder / "proofs.jsonl")
        say_error(f"{len(waiting)} to prove, {len(known)} are there already")

        async def work() -> None:
            while waiting:
                candidate = waiting.popleft()
                outcome = await self._prove(candidate, file)
                words = safe_line(candidate.instruction, 70)
                say_error(f"{outcome}: {words}; {len(waiting)} wait")

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, len(waiting))):
                    group.create_task(work())
        except* UsageError as errors:
            raise errors.exceptions[0] from None
        finally:
            file.close()

    async def _prove(self, candidate: Candidate, file: AppendOnlyFile) -> str:
        """Prove one, and write that down; the outcome in words."""
        from hisa.plugins.synthesis.exploration import append_record
        from hisa.plugins.synthesis.prover import prove
        from hisa.plugins.synthesis.task_files import write_task

        for _ in range(_TRIES):
            try:
                proof = await prove(candidate, self._exploration, self._machine, self._tasks)
            except EnvironmentFailed as error:
                outcome = f"a desktop broke ({str(error)[:500]})"
                say_error(outcome)
                continue
            if proof.proved:  # a stop between the two proves it again, and replaces the task
                done = proof.completed or candidate
                write_task(self._folder / "tasks", self._exploration, done, proof)
            append_record(file, proof)
            self.proofs.append(proof)
            word = "proved" if proof.proved else f"refused, {proof.reason}"
            return f"{word} in {proof.seconds:.0f} s"
        self.left += 1
        return "left for another time"


def sums(proofs: list[Proof], candidates: int) -> dict[str, Any]:
    """Counts over proofs: proved, refused by reason, and mutants that the check told."""
    mutants = [mutant for proof in proofs for mutant in proof.mutants]
    proved = [proof for proof in proofs if proof.proved]
    ways = [way.kind for proof in proved for way in proof.other_ways if way.passed]
    return {
        "candidates": candidates,
        "tried": len(proofs),
        "proved": len(proved),
        "refused": dict(Counter(one.reason for one in proofs if not one.proved).most_common()),
        "mutants": {
            "killed": sum(one.killed for one in mutants),
            "of": len(mutants),
        },
        "other_ways": dict(Counter(ways)),
    }


def say_sums(summary: dict[str, Any]) -> None:
    """Print them in words."""
    tried, candidates = summary["tried"], summary["candidates"]
    say(f"{summary['proved']} of {tried} proved")
    for reason, count in summary["refused"].items():
        say(f"  {count} of {tried} refused: {reason}")
    if tried < candidates:
        say(f"  {candidates - tried} of {candidates} are not tried yet")
    killed, of = summary["mutants"].values()
    say(f"the first check told {killed} of {of} mutants")
