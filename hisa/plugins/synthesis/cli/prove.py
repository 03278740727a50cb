"""``hisa synth prove``: candidates done on real desktops, and what is kept of them."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
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

__all__ = ["Queue", "prove", "say_sums"]


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
    was stopped, and tries a candidate again whose desktop broke.

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
    say_sums(queue.proofs, queue.count)
    say(f"tasks: {folder / 'tasks'}; hisa synth show {folder}")
    return {None: 1, True: 3, False: 0}[left]


class Queue:
    """The candidates of an exploration, lasting ends first, and its proofs: ``DIR/proofs.jsonl``.

    Raises: UsageError where there are no candidates, or a file is damaged.
    """

    def __init__(
        self, exploration: Exploration, machine: EnvironmentSettings, tasks: TaskSettings
    ) -> None:
        from hisa.plugins.synthesis.task_lines import candidates_shown

        self._exploration, self._machine, self._tasks = exploration, machine, tasks
        self._folder = folder = exploration.folder
        shown = candidates_shown(exploration)
        if not shown:
            raise UsageError(f"{folder}: no candidates yet", fix=f"hisa synth write {folder}")
        self.count = len(shown)
        self.proofs = [proof for _, proof in shown if proof]
        self._waiting = [candidate for candidate, proof in shown if proof is None]
        self._waiting.sort(key=lambda candidate: not candidate.changes)
        self.left = 0
        """Candidates under which desktops broke, left for another time."""

    async def run(self, *, workers: int = 1, limit: int | None = None) -> None:
        """Prove what is waiting, in order; a proof is written down before anything is said of it.

        ``workers`` are desktops at once; at most ``limit`` candidates are begun. Raises:
        UsageError where the subject cannot be set up here.
        """
        from hisa.machine.storage import AppendOnlyFile

        waiting = deque(self._waiting[:limit])
        file = AppendOnlyFile(self._folder / "proofs.jsonl")
        say_error(f"{len(waiting)} to prove, {len(self.proofs)} are there already")

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

        try:
            proof = await prove(candidate, self._exploration, self._machine, self._tasks)
        except EnvironmentFailed as error:
            self.left += 1
            return f"left for another time, a desktop broke ({str(error)[:500]})"
        if proof.proved:  # a stop between the two proves it again, and replaces the task
            done = proof.completed or candidate
            write_task(self._folder / "tasks", self._exploration, done, proof)
        append_record(file, proof)
        self.proofs.append(proof)
        word = "proved" if proof.proved else f"refused, {proof.reason}"
        return f"{word} in {proof.seconds:.0f} s"


def say_sums(proofs: Sequence[Proof], candidates: int) -> None:
    """Print how many are proved, refused by reason, and mutants that the check told."""
    tried, mutants = len(proofs), [mutant for proof in proofs for mutant in proof.mutants]
    say(f"{sum(proof.proved for proof in proofs)} of {tried} proved")
    for reason, count in Counter(one.reason for one in proofs if not one.proved).most_common():
        say(f"  {count} of {tried} refused: {reason}")
    if tried < candidates:
        say(f"  {candidates - tried} of {candidates} are not tried yet")
    killed = sum(mutant.killed for mutant in mutants)
    say(f"the first check told {killed} of {len(mutants)} mutants")
