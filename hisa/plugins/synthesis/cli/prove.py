"""``hisa synth prove``: candidates done on real desktops, and what is kept of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import print_json, say, say_error
from hisa.errors import EnvironmentFailed, UsageError
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.machine.storage import AppendOnlyFile
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.task_records import Candidate, Mutant, Proof

__all__ = ["Queue", "prove", "sums"]

_TRIES = 2
"""Desktops that may break under one candidate before it is left for another time."""


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--workers", type=click.IntRange(1), default=1, metavar="N", help="Desktops; 1.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Prove so many at most, now.")
@click.option("--minutes", type=click.FloatRange(0.0), metavar="M", help="Begin no more after M.")
@click.option("--env", metavar="KIND", help="As for hisa run; a private desktop by default.")
@click.option("--json", "as_json", is_flag=True, help="Print the sums as JSON, and no progress.")
@click.pass_context
def prove(ctx: click.Context, /, folder: Path, env: str | None, as_json: bool, **how: Any) -> int:
    """Prove the candidates of DIR by doing them, on desktops without a network.

    A candidate is proved where its check fails at the start, passes at the end, fails once that is
    undone, fails for three near misses, passes on a fresh desktop, and passes for another right
    way. Proofs go to DIR/proofs.jsonl as they come, tasks to DIR/tasks/ID. The same command goes
    on where it was stopped; a candidate whose desktop broke is tried again.

    \b
    hisa synth prove pads
    hisa synth prove pads --workers 2 --minutes 30

    Exit status: 0 what was begun is proved or refused; 1 stopped; 3 desktops broke, some are left.
    """
    from hisa.config import load
    from hisa.machine.storage import Lock
    from hisa.plugins.synthesis.exploration import Exploration

    file, assignments = ctx.meta["hisa.settings"]
    over = {"environment": {"kind": env}} if env else {}
    settings = load(file, assignments, overrides=over)
    if not settings.environment.throw_away:
        kind = settings.environment.kind
        raise UsageError(f"{kind!r} keeps what each proof does to it", fix="--env desktop")
    queue = Queue(Exploration.open(folder), settings, quiet=as_json)
    lock = Lock.take(folder / ".prove.lock")
    if lock is None:
        raise UsageError(
            f"{folder}: process {Lock.holder(folder / '.prove.lock')} is proving there"
        )
    try:
        asyncio.run(queue.run(**how))
        status = 3 if queue.left else 0
    except KeyboardInterrupt:
        say_error("stopped: what was in hand is lost, the same command goes on")
        status = 1
    finally:
        lock.release()
    summary = sums(queue.proofs, len(queue.candidates))
    if as_json:
        print_json(summary)
    for line in [] if as_json else _lines(summary, folder):
        say(line)
    return status


class Queue:
    """The candidates of an exploration, lasting ends first, and its proofs: ``DIR/proofs.jsonl``.

    Raises:
        UsageError: there are no candidates, or a file is damaged.
    """

    def __init__(self, exploration: Exploration, settings: Settings, *, quiet: bool = True) -> None:
        from hisa.plugins.synthesis.exploration import read_records
        from hisa.plugins.synthesis.task_records import Candidate, Proof

        self._exploration, self._settings, self._quiet = exploration, settings, quiet
        folder = exploration.folder
        candidates = {one.id: one for one in read_records(folder / "candidates.jsonl", Candidate)}
        if not candidates:
            raise UsageError(f"{folder}: no candidates yet", fix=f"hisa synth write {folder}")
        proofs = {one.candidate: one for one in read_records(folder / "proofs.jsonl", Proof)}
        self.candidates = sorted(candidates.values(), key=lambda one: not one.changes)
        self.proofs = [one for one in proofs.values() if one.candidate in candidates]
        self.left = 0
        """Candidates under which desktops broke, left for another time."""
        self._by_id = candidates

    def _say(self, line: str) -> None:
        if not self._quiet:
            say(line, err=True)

    async def run(
        self, *, workers: int = 1, limit: int | None = None, minutes: float | None = None
    ) -> None:
        """Prove what is waiting, in order; a proof is written down before anything is said of it.

        Args:
            workers: desktops at once.
            limit: candidates that are begun at most.
            minutes: after so many no further candidate is begun.

        Raises:
            UsageError: the subject cannot be set up here.
        """
        from hisa.machine.storage import AppendOnlyFile

        known = {proof.candidate for proof in self.proofs}
        for proof in self.proofs:
            self._write(proof, again=False)
        waiting = deque([one for one in self.candidates if one.id not in known][:limit])
        total, began, tries = len(waiting), time.monotonic(), Counter[str]()
        self._say(f"{total} to prove, {len(known)} are there already")
        file = AppendOnlyFile(self._exploration.folder / "proofs.jsonl")

        async def work() -> None:
            while waiting and (minutes is None or time.monotonic() < began + 60 * minutes):
                candidate = waiting.popleft()
                tries[candidate.id] += 1
                outcome = await self._prove(candidate, file)
                if outcome.startswith("a desktop broke"):
                    last = tries[candidate.id] == _TRIES
                    self.left += last
                    waiting.extend([] if last else [candidate])
                done = len(self.proofs) - len(known)
                rest = (total - done) * (time.monotonic() - began) / max(done, 1) / 60
                words = safe_line(candidate.instruction, 70)
                self._say(f"{done}/{total}  {outcome}: {words}  {rest:.0f} min left")

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, total)):
                    group.create_task(work())
        except* UsageError as errors:
            raise errors.exceptions[0] from None
        finally:
            file.close()

    async def _prove(self, candidate: Candidate, file: AppendOnlyFile) -> str:
        """Prove one, and write that down; the outcome in words."""
        from hisa.plugins.synthesis.exploration import append_record
        from hisa.plugins.synthesis.prover import prove

        try:
            proof = await prove(candidate, self._exploration, self._settings)
        except EnvironmentFailed as error:
            return f"a desktop broke ({str(error)[:500]})"
        append_record(file, proof)
        self.proofs.append(proof)
        self._write(proof, again=True)
        word = "proved" if proof.proved else f"refused, {proof.reason}"
        return f"{word} in {proof.seconds:.0f} s"

    def _write(self, proof: Proof, *, again: bool) -> None:
        """Write the files of a proved task; those that are there only where ``again`` says so."""
        from hisa.plugins.synthesis.task_files import write_task

        tasks = self._exploration.folder / "tasks"
        if proof.proved and (again or not (tasks / proof.candidate).exists()):
            write_task(tasks, self._exploration, self._by_id[proof.candidate], proof)


def sums(proofs: list[Proof], candidates: int) -> dict[str, Any]:
    """Counts over proofs: proved, refused by reason, and mutants that the check told, by kind."""
    mutants = [mutant for proof in proofs for mutant in proof.mutants]
    proved = [proof for proof in proofs if proof.proved]
    return {
        "candidates": candidates,
        "tried": len(proofs),
        "proved": len(proved),
        "refused": dict(Counter(one.reason for one in proofs if not one.proved).most_common()),
        "mutants": _killed(mutants),
        "mutants_by_kind": {
            kind: _killed([one for one in mutants if one.kind == kind])
            for kind in sorted({one.kind for one in mutants})
        },
        "equivalent": sum(proof.equivalent for proof in proofs),
        "not_done": sum(proof.not_done for proof in proofs),
        "other_ways": dict(Counter(w.kind for p in proved for w in p.other_ways if w.passed)),
        "seconds": round(sum(proof.seconds for proof in proofs), 1),
        "desktops": sum(proof.desktops for proof in proofs),
    }


def _killed(mutants: list[Mutant]) -> dict[str, int]:
    from hisa.plugins.synthesis.prover import NO_OP

    changed = sum(not one.detail.endswith(NO_OP) for one in mutants)
    return {"killed": sum(one.killed for one in mutants), "changed": changed, "of": len(mutants)}


def _lines(summary: dict[str, Any], folder: Path) -> list[str]:
    tried = summary["tried"]
    seconds = summary["seconds"] / max(tried, 1)
    lines = [f"{summary['proved']} of {tried} proved, {seconds:.0f} s each"]
    lines += [f"  {count} of {tried} refused: {why}" for why, count in summary["refused"].items()]
    if untried := summary["candidates"] - tried:
        lines.append(f"  {untried} of {summary['candidates']} are not tried yet")
    kinds = {"mutants that the first check told": summary["mutants"]}
    kinds |= {f"  {kind}": count for kind, count in summary["mutants_by_kind"].items()}
    for kind, count in kinds.items() if summary["mutants"]["of"] else ():
        share = f"{count['killed']} of {count['of']}"
        lines.append(f"{kind}: {share}; {count['changed']} changed something")
    lines.append(f"  {summary['equivalent']} more were right, {summary['not_done']} not possible")
    if summary["proved"]:
        lines.append(f"tasks: {folder / 'tasks'}; hisa synth show {folder}")
    return lines
