"""``hisa synth prove``: candidates done on real desktops, and what is kept of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import print_json, say, say_error
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.plugins.synthesis.proof_queue import Broken, ProofQueue
    from hisa.plugins.synthesis.task_records import Candidate, Mutant, Proof

__all__ = ["prove", "sums"]


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
    undone, passes on a fresh desktop, fails for three near misses, and passes for another right
    way. Proofs go to DIR/proofs.jsonl as they come, tasks to DIR/tasks/ID. The same command goes
    on where it was stopped; a candidate whose desktop broke is tried again.

    \b
    hisa synth prove pads
    hisa synth prove pads --workers 2 --minutes 30

    Exit status: 0 what was begun is proved or refused; 1 stopped; 3 desktops broke, some are left.
    """
    from hisa.config import load
    from hisa.errors import UsageError
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.proof_queue import ProofQueue

    file, assignments = ctx.meta["hisa.settings"]
    over = {"environment": {"kind": env}} if env else {}
    settings = load(file, assignments, overrides=over)
    if not settings.environment.throw_away:
        kind = settings.environment.kind
        raise UsageError(f"{kind!r} keeps what each proof does to it", fix="--env desktop")
    with ProofQueue(Exploration.open(folder), settings) as queue:
        status = _run(queue, quiet=as_json, **how)
        summary = sums(queue.proofs, len(queue.candidates))
    if as_json:
        print_json(summary)
    else:
        for line in _lines(summary, folder):
            say(line)
    return status


def _run(queue: ProofQueue, *, quiet: bool, limit: int | None, **how: Any) -> int:
    """Prove, with progress; the exit status."""
    from hisa.plugins.synthesis.proof_queue import Broken
    from hisa.plugins.synthesis.task_records import Proof

    total = min(len(queue.waiting), limit or len(queue.waiting))
    done, left, began = 0, 0, time.monotonic()
    if not quiet:
        say(f"{total} to prove, {len(queue.proofs)} are there already", err=True)
    written = {one.id: one for one in queue.candidates}
    for proof in queue.proofs:
        _write(queue, written[proof.candidate], proof, again=False)

    def progress(candidate: Candidate, outcome: Proof | Broken) -> None:
        nonlocal done, left
        if isinstance(outcome, Proof):
            done += 1
            _write(queue, candidate, outcome)
        elif isinstance(outcome, Broken):
            left += outcome.left
        if not quiet:
            rest = (total - done) * (time.monotonic() - began) / max(done, 1) / 60
            say(f"{done}/{total}  {_line(candidate, outcome)}, {rest:.0f} min left", err=True)

    try:
        asyncio.run(queue.run(progress, limit=limit, **how))
    except KeyboardInterrupt:
        say_error("stopped: what was in hand is lost, the same command goes on")
        return 1
    return 3 if left else 0


def _write(queue: ProofQueue, candidate: Candidate, proof: Proof, *, again: bool = True) -> None:
    """Write the files of a proved task; those that are there only where ``again`` says so."""
    from hisa.plugins.synthesis.task_files import write_task

    tasks = queue.exploration.folder / "tasks"
    if proof.proved and (again or not (tasks / candidate.id).exists()):
        write_task(tasks, queue.exploration, candidate, proof)


def _line(candidate: Candidate, outcome: Proof | Broken) -> str:
    from hisa.plugins.synthesis.proof_queue import Broken

    words = safe_line(candidate.instruction, 70)
    if isinstance(outcome, Broken):
        later = "left for another time" if outcome.left else "to be tried again"
        return f"a desktop broke ({outcome.reason}), {later}: {words}"
    word = "proved" if outcome.proved else f"refused, {outcome.reason}"
    return f"{word}: {words}  {outcome.seconds:.0f} s"


def sums(proofs: list[Proof], candidates: int) -> dict[str, Any]:
    """Counts over proofs: proved, refused by reason, and mutants that the check told, by kind."""
    mutants = [mutant for proof in proofs for mutant in proof.mutants]
    refused = Counter(proof.reason for proof in proofs if not proof.proved)
    proved = [proof for proof in proofs if proof.proved]
    return {
        "candidates": candidates,
        "tried": len(proofs),
        "proved": len(proved),
        "refused": dict(refused.most_common()),
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
    return {"killed": sum(one.killed for one in mutants), "of": len(mutants)}


def _lines(summary: dict[str, Any], folder: Path) -> list[str]:
    tried, mutants = summary["tried"], summary["mutants"]
    each = summary["seconds"] / max(tried, 1)
    lines = [f"{summary['proved']} of {tried} proved, {each:.0f} s each"]
    lines += [f"  {count} of {tried} refused: {why}" for why, count in summary["refused"].items()]
    if untried := summary["candidates"] - tried:
        lines.append(f"  {untried} of {summary['candidates']} are not tried yet")
    if mutants["of"]:
        share = 100 * mutants["killed"] / mutants["of"]
        lines.append(
            f"mutants that the first check told: {mutants['killed']} of {mutants['of']} "
            f"({share:.0f} %); {summary['equivalent']} more were right, "
            f"{summary['not_done']} could not be done"
        )
    for kind, count in summary["mutants_by_kind"].items():
        lines.append(f"  {kind}: {count['killed']} of {count['of']}")
    if summary["proved"]:
        lines.append(f"tasks: {folder / 'tasks'}; hisa synth show {folder}")
    return lines
