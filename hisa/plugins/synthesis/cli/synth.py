"""``hisa synth``: tasks made of what was explored."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, say, say_error
from hisa.plugins.synthesis.cli.prove import prove

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.writing import Written

__all__ = ["show", "synth", "with_model", "write"]


@click.group()
def synth() -> None:
    """Make tasks of what was explored, and prove them by doing them.

    Each difference that an act made becomes a check, and each act an instruction. A candidate is a
    task only once it was executed: it fails at the start, passes at the end, fails after undoing,
    fails for near misses, and passes for another right way.

    \b
    hisa explore mousepad --minutes 10 -o pads
    hisa synth write pads
    hisa synth prove pads --workers 2
    hisa synth show pads
    """


synth.add_command(prove)


@synth.command()
@click.argument("folder", metavar="DIR", type=Path)
def show(folder: Path) -> None:
    """Print what DIR holds: numbers, first screens, each task with its check and its proof.

    Of each candidate the pictures, instruction, check, reference and proof; of one that was refused
    why.

    \b
    hisa synth show pads
    """
    from hisa.plugins.synthesis.cli.prove import say_sums
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.model_instructions import first_screens
    from hisa.plugins.synthesis.task_lines import candidates_shown, task_lines

    exploration = Exploration.open(folder)
    known = candidates_shown(exploration)
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
@click.option("--model", metavar="NAME", help="Writes broader goals; without one, rules write.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="New instructions, at most.")
@click.option(
    "--references",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="The paper's two references, N each: tasks that a model thinks of on first screens (0).",
)
@click.option("--seed", type=int, default=0, help="Of the examples that are drawn (0).")
@click.pass_context
def write(ctx: click.Context, /, folder: Path, model: str | None, **how: Any) -> None:
    """Write instructions for what DIR holds of an exploration, and make candidates of tasks.

    For each distinct effect, rules write an instruction from the acts and the screens. Apart from
    that, a check is made from the files and settings that changed: neither sees the other. A
    candidate is not a task yet; "hisa synth prove" executes it.

    --model asks a model for a wider task that each act is a step of. Such a goal has no check and
    is never proved: it goes to DIR/goals/ID, for "hisa bench run own:DIR/goals".

    DIR gets instructions.jsonl, candidates.jsonl, refused.jsonl and goals_refused.jsonl (what
    became nothing, and why), and calls.jsonl (the model's turns).
    """
    from hisa.plugins.synthesis.writing import Wish, write_all

    settings = with_model(ctx.obj, model) if model else None
    _say(asyncio.run(write_all(settings, folder, Wish(**how), say_error)), folder)


def with_model(settings: Settings, model: str) -> Settings:
    """The settings with another planner's model."""
    own = settings.models.planner.model_copy(update={"model": model})
    models = settings.models.model_copy(update={"planner": own})
    return settings.model_copy(update={"models": models})


def _say(written: Written, folder: Path) -> None:
    ways = Counter(one.way.replace("_", "-") for one in written.instructions)
    kinds = ", ".join(f"{count} {way}" for way, count in ways.items()) or "none"
    say(f"instructions by {written.writer}: {kinds}")
    if written.effects:
        candidates = f"{len(written.candidates)} candidates in {folder / 'candidates.jsonl'}"
        say(f"{written.effects} distinct effects; {candidates}")
    for reason, count in Counter(one.reason for one in written.refusals).most_common():
        say(f"  {count:4} refused: {reason}")
    if written.stopped:
        say(f"ended early: {written.stopped}")
    if ways["broad"]:
        say(f"next:\n  hisa bench run own:{folder}/goals --model NAME --out benches/goals")
    elif written.candidates:
        say(f"next:\n  hisa synth prove {folder} --workers 2")
