"""``hisa synth``: generates tasks from an exploration."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, say, say_error
from hisa.errors import EnvironmentFailed, UsageError
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.config import EnvironmentSettings, Settings, TaskSettings
    from hisa.machine.storage import AppendOnlyFile
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.records import Candidate, Proof
    from hisa.plugins.synthesis.task_writing import WritingResult

__all__ = ["Queue", "prove", "say_sums", "show", "synth", "with_model", "write"]


@click.group()
def synth() -> None:
    """Generate tasks from an exploration, and prove each by executing it.

    Each change that an action made becomes a check, and each action an instruction. A candidate
    becomes a task only after it was executed: its check fails at the start, passes at the end,
    fails after undoing, fails for near misses, and passes for another correct way.

    \b
    hisa explore mousepad --minutes 10 -o pads
    hisa synth write pads
    hisa synth prove pads --workers 2
    hisa synth show pads
    """


@synth.command()
@click.argument("folder", metavar="DIR", type=Path)
def show(folder: Path) -> None:
    """Print what DIR holds: totals, first screens, and each task with its check and proof.

    For each candidate it prints the pictures, instruction, check, reference and proof, or why it
    was refused.

    \b
    hisa synth show pads
    """
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.model_instructions import first_screens
    from hisa.plugins.synthesis.task_lines import list_candidates, task_lines

    exploration = Exploration.open(folder)
    known = list_candidates(exploration)
    say(", ".join(f"{name.replace('_', ' ')} {n}" for name, n in exploration.numbers().items()))
    for state in first_screens(exploration) if exploration.states else ():
        say(f"first screen: {exploration.picture(state)}")
    say_sums([proof for _, proof in known if proof], len(known))
    for candidate, proof in known:
        for line in task_lines(exploration, candidate, proof):
            say(line.replace("\n", " "))


_EXAMPLES = examples(
    "hisa synth write pads",
    "hisa --set run.budget_usd=2 synth write pads --model gpt-5 --limit 20",
    "hisa synth write pads --references 10 --model gpt-5",
)


@synth.command("write", epilog=_EXAMPLES)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--model", metavar="NAME", help="Writes broader goals (default: rules write).")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Most new instructions.")
@click.option(
    "--references",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="N for each of the paper's two references: tasks a model invents on first screens (0).",
)
@click.option("--seed", type=int, default=0, help="Seed for drawing examples (0).")
@click.pass_context
def write(ctx: click.Context, /, folder: Path, model: str | None, **options: Any) -> None:
    """Write instructions and checks for the exploration in DIR: candidates for tasks.

    For each distinct effect, rules write an instruction from the actions and the screens.
    Independently, a check is made from the changed files and settings: neither sees the other. A
    candidate is not a task yet; "hisa synth prove" executes it.

    With --model, a model writes a broader task that each action is a step of. Such a goal has no
    check and is never proved: it goes to DIR/goals/ID, for "hisa bench run own:DIR/goals".

    DIR gets instructions.jsonl, candidates.jsonl, refused.jsonl and goals_refused.jsonl (what was
    refused, and why), and calls.jsonl (the model calls).
    """
    from hisa.plugins.synthesis.task_writing import Wish, write_all

    settings = with_model(ctx.obj, model) if model else None
    _say(asyncio.run(write_all(settings, folder, Wish(**options), say_error)), folder)


def with_model(settings: Settings, model: str) -> Settings:
    """Returns the settings with another model for the planner."""
    own = settings.models.planner.model_copy(update={"model": model})
    models = settings.models.model_copy(update={"planner": own})
    return settings.model_copy(update={"models": models})


def _say(written: WritingResult, folder: Path) -> None:
    ways = Counter(instruction.way.replace("_", "-") for instruction in written.instructions)
    kinds = ", ".join(f"{count} {way}" for way, count in ways.items()) or "none"
    say(f"instructions by {written.writer}: {kinds}")
    if written.effects:
        candidates = f"{len(written.candidates)} candidates in {folder / 'candidates.jsonl'}"
        say(f"{written.effects} distinct effects; {candidates}")
    for reason, count in Counter(refusal.reason for refusal in written.refusals).most_common():
        say(f"  {count:4} refused: {reason}")
    if written.stopped:
        say(f"ended early: {written.stopped}")
    if ways["broad"]:
        say(f"next:\n  hisa bench run own:{folder}/goals --model NAME --out benches/goals")
    elif written.candidates:
        say(f"next:\n  hisa synth prove {folder} --workers 2")


@synth.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--workers", type=click.IntRange(1), default=1, metavar="N", help="Desktops at once (1)."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Most candidates in this call.")
@click.pass_context
def prove(ctx: click.Context, /, folder: Path, **options: Any) -> int:
    """Prove the candidates in DIR by executing them on desktops without a network.

    A candidate is proved if its check fails at the start, passes at the end, fails after undoing,
    fails for three near misses, passes on a fresh desktop, and passes for another correct way. If
    its actions lead elsewhere, the next "hisa synth write" writes the next longer way. Proofs are
    written to DIR/proofs.jsonl one by one, tasks to DIR/tasks/ID. The same command continues where
    it stopped, and retries candidates whose desktop broke.

    \b
    hisa synth prove pads
    hisa synth prove pads --workers 2

    Exit status: 0 all are proved or refused; 1 stopped; 3 desktops broke, some are still to do.
    """
    from hisa.plugins.synthesis.exploration import Exploration, run_alone

    machine = ctx.obj.environment
    if not machine.throw_away:
        raise UsageError(
            f"environment.kind {machine.kind!r} keeps what a proof does to the machine",
            fix="--set environment.kind=desktop",
        )
    queue = Queue(Exploration.open(folder), machine, ctx.obj.tasks)

    async def work() -> bool:
        await queue.run(**options)
        return queue.left > 0

    if (left := run_alone(work, folder / ".prove.lock")) is None:
        say_error("stopped: unfinished work is lost; the same command continues")
    say_sums(queue.proofs, queue.count)
    say(f"tasks: {folder / 'tasks'}; hisa synth show {folder}")
    return {None: 1, True: 3, False: 0}[left]


class Queue:
    """The candidates of an exploration, lasting effects first, and its proofs.

    Raises:
        UsageError: there are no candidates, or a file is damaged.
    """

    def __init__(
        self, exploration: Exploration, machine: EnvironmentSettings, tasks: TaskSettings
    ) -> None:
        from hisa.plugins.synthesis.task_lines import list_candidates

        self._exploration, self._machine, self._tasks = exploration, machine, tasks
        self._folder = folder = exploration.folder
        shown = list_candidates(exploration)
        if not shown:
            raise UsageError(f"{folder}: no candidates yet", fix=f"hisa synth write {folder}")
        self.count = len(shown)
        self.proofs = [proof for _, proof in shown if proof]
        self._waiting = [candidate for candidate, proof in shown if proof is None]
        self._waiting.sort(key=lambda candidate: not candidate.changes)
        self.left = 0
        """How many candidates are left for another call because their desktop broke."""

    async def run(self, *, workers: int = 1, limit: int | None = None) -> None:
        """Prove the waiting candidates in order; each proof is stored before it is printed.

        Args:
            workers: desktops at once.
            limit: most candidates to start; None: all.

        Raises:
            UsageError: the subject cannot be set up here.
        """
        from hisa.machine.storage import AppendOnlyFile

        waiting = deque(self._waiting[:limit])
        file = AppendOnlyFile(self._folder / "proofs.jsonl")
        say_error(f"{len(waiting)} to prove, {len(self.proofs)} already tried")

        async def work() -> None:
            while waiting:
                candidate = waiting.popleft()
                outcome = await self._prove(candidate, file)
                words = safe_line(candidate.instruction, 70)
                say_error(f"{outcome}: {words}; {len(waiting)} waiting")

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, len(waiting))):
                    group.create_task(work())
        except* UsageError as errors:
            raise errors.exceptions[0] from None
        finally:
            file.close()

    async def _prove(self, candidate: Candidate, file: AppendOnlyFile) -> str:
        """Prove one candidate and store the proof; returns the outcome in words."""
        from hisa.plugins.synthesis.exploration import append_record
        from hisa.plugins.synthesis.prover import prove
        from hisa.plugins.synthesis.task_files import write_task

        try:
            proof = await prove(candidate, self._exploration, self._machine, self._tasks)
        except EnvironmentFailed as error:
            self.left += 1
            return f"left for later, because a desktop broke ({str(error)[:500]})"
        if proof.proved:  # a stop between the two proves it again, and replaces the task
            proved_candidate = proof.completed or candidate
            write_task(self._folder / "tasks", self._exploration, proved_candidate, proof)
        append_record(file, proof)
        self.proofs.append(proof)
        word = "proved" if proof.proved else f"refused, {proof.reason}"
        return f"{word} in {proof.seconds:.0f} s"


def say_sums(proofs: Sequence[Proof], candidates: int) -> None:
    """Print how many are proved and refused, by reason, and how many mutants the check caught."""
    tried, mutants = len(proofs), [mutant for proof in proofs for mutant in proof.mutants]
    say(f"{sum(proof.proved for proof in proofs)} of {tried} proved")
    for reason, count in Counter(
        proof.reason for proof in proofs if not proof.proved
    ).most_common():
        say(f"  {count} of {tried} refused: {reason}")
    if tried < candidates:
        say(f"  {candidates - tried} of {candidates} not tried yet")
    killed = sum(mutant.killed for mutant in mutants)
    say(f"the first check caught {killed} of {len(mutants)} mutants")
