"""``hisa synth``: makes tasks from what was explored, and proves them."""

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
    """Make tasks from what was explored, and prove them by doing them.

    The changes of an act become a check, and the act becomes an instruction. A candidate is a task
    only once it was executed: its check fails at the start, passes at the end, fails after undoing,
    fails for near misses, and passes for another right way.

    \b
    hisa explore mousepad --minutes 10 -o pads
    hisa synth write pads
    hisa synth prove pads --workers 2
    hisa synth show pads
    """


@synth.command()
@click.argument("folder", metavar="DIR", type=Path)
def show(folder: Path) -> None:
    """Print the contents of DIR: counts, first screens, and each candidate.

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
@click.option("--model", metavar="NAME", help="Model that writes broader goals (rules).")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Most new instructions.")
@click.option(
    "--references",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="N each of the paper's two references: tasks that a model invents from first screens (0).",
)
@click.option("--seed", type=int, default=0, help="Seed of the drawn examples (0).")
@click.pass_context
def write(ctx: click.Context, /, folder: Path, model: str | None, **options: Any) -> None:
    """Write instructions for the exploration in DIR, and make candidates for tasks.

    For each distinct effect, rules write an instruction from the acts and the screens. A check is
    made separately, from the files and settings that changed: neither is made from the other. A
    candidate is not a task yet; "hisa synth prove" executes it.

    --model asks a model for a broader task that has the act as one of its steps. Such a goal has no
    check and is never proved: it goes to DIR/goals/ID, for "hisa bench run own:DIR/goals".

    DIR gets instructions.jsonl, candidates.jsonl, refused.jsonl and goals_refused.jsonl (what was
    refused, and why), and calls.jsonl (the model's turns).
    \f

    Args:
        ctx: of the command; its object is the settings.
        folder: of the exploration.
        model: name of the model that writes goals and references; None: rules write.
        options: fields of `Wish`.
    """
    from hisa.plugins.synthesis.task_writing import Wish, write_all

    settings = with_model(ctx.obj, model) if model else None
    _say(asyncio.run(write_all(settings, folder, Wish(**options), say_error)), folder)


def with_model(settings: Settings, model: str) -> Settings:
    """Returns the settings with this model for the planner."""
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
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Prove at most N now.")
@click.pass_context
def prove(ctx: click.Context, /, folder: Path, **options: Any) -> int:
    """Prove the candidates of DIR by doing them, on desktops without a network.

    A candidate is proved if its check fails at the start, passes at the end, fails once that is
    undone, fails for three near misses, passes on a fresh desktop, and passes for another right
    way. If the acts do not lead to the end, "hisa synth write" then writes the next longer way.
    Proofs go to DIR/proofs.jsonl one by one, tasks to DIR/tasks/ID. If stopped, the same command
    continues; it tries a candidate again if its desktop broke.

    \b
    hisa synth prove pads
    hisa synth prove pads --workers 2

    Exit status: 0 all begun are proved or refused; 1 stopped; 3 desktops broke, some are left.
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
        say_error("stopped: the proof in progress is lost; the same command continues")
    say_sums(queue.proofs, queue.count)
    say(f"tasks: {folder / 'tasks'}; hisa synth show {folder}")
    return {None: 1, True: 3, False: 0}[left]


class Queue:
    """The candidates of an exploration, lasting effects first, and its proofs: ``proofs.jsonl``.

    Raises: UsageError if there are no candidates, or a file is damaged.
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
        """Number of candidates whose desktops broke, left for another call."""

    async def run(self, *, workers: int = 1, limit: int | None = None) -> None:
        """Proves the waiting candidates in order; each proof is written before it is announced.

        ``workers`` are desktops at once; at most ``limit`` candidates are begun. Raises:
        UsageError if the subject cannot be set up here.
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
                say_error(f"{outcome}: {words}; {len(waiting)} left")

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, len(waiting))):
                    group.create_task(work())
        except* UsageError as errors:
            raise errors.exceptions[0] from None
        finally:
            file.close()

    async def _prove(self, candidate: Candidate, file: AppendOnlyFile) -> str:
        """Proves one candidate and stores the proof; returns the outcome in words."""
        from hisa.plugins.synthesis.exploration import append_record
        from hisa.plugins.synthesis.prover import prove
        from hisa.plugins.synthesis.task_files import write_task

        try:
            proof = await prove(candidate, self._exploration, self._machine, self._tasks)
        except EnvironmentFailed as error:
            self.left += 1
            return f"not proved, since a desktop broke ({str(error)[:500]}); try again"
        if proof.proved:  # if stopped before the proof is stored, it is proved and replaced again
            proved_candidate = proof.completed or candidate
            write_task(self._folder / "tasks", self._exploration, proved_candidate, proof)
        append_record(file, proof)
        self.proofs.append(proof)
        word = "proved" if proof.proved else f"refused, {proof.reason}"
        return f"{word} in {proof.seconds:.0f} s"


def say_sums(proofs: Sequence[Proof], candidates: int) -> None:
    """Prints how many are proved, how many are refused and why, and how many mutants are killed."""
    tried, mutants = len(proofs), [mutant for proof in proofs for mutant in proof.mutants]
    say(f"{sum(proof.proved for proof in proofs)} of {tried} proved")
    for reason, count in Counter(
        proof.reason for proof in proofs if not proof.proved
    ).most_common():
        say(f"  {count} of {tried} refused: {reason}")
    if tried < candidates:
        say(f"  {candidates - tried} of {candidates} not tried yet")
    killed = sum(mutant.killed for mutant in mutants)
    say(f"the check failed on {killed} of {len(mutants)} mutants, as it must")
