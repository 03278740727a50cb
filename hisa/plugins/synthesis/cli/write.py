"""``hisa synth write``: instructions and candidates from what was explored."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, json_option, print_json, say, say_error

if TYPE_CHECKING:
    from hisa.plugins.synthesis.writing import Written

__all__ = ["write"]

_EXAMPLES = examples(
    "hisa synth write pads                                the rules write, at no cost",
    "hisa synth write pads --chains 10                    and tasks of two effects each",
    "hisa synth write pads --model gpt-5 --budget-usd 2   a model writes; goes on where it stopped",
    "hisa synth write pads --model gguf:coder-1.5b --limit 5",
)


@click.command("write", epilog=_EXAMPLES)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--model", metavar="NAME", help="Writes the instructions; without one, rules do.")
@click.option("--profile", metavar="NAME", help="What the model takes; by default by its name.")
@click.option("--budget-usd", type=float, metavar="X", help="End before a call that costs more.")
@click.option("--budget-tokens", type=int, metavar="N", help="Likewise, by tokens in and out.")
@click.option("--at-once", type=click.IntRange(1, 32), default=1, help="Requests at a time (1).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="New instructions, at most.")
@click.option("--chains", type=click.IntRange(0, 10_000), default=0, metavar="N",
              help="Tasks of two effects, at most (0).")  # fmt: skip
@click.option("--references", type=click.IntRange(0, 10_000), default=0, metavar="N",
              help="The paper's two references, N each: they see first screens only (0).")  # fmt: skip
@click.option("--most-per-menu", type=click.FloatRange(1, 100), default=15.0, metavar="PERCENT",
              help="Of the tasks, from one menu or dialog, at most (15).")  # fmt: skip
@click.option("--seed", type=int, default=0, help="Of what is drawn: chains, examples (0).")
@json_option
@click.pass_context
def write(ctx: click.Context, /, folder: Path, *, as_json: bool, **how: Any) -> None:
    """Write instructions for what DIR holds of an exploration, and make candidates of tasks.

    For each distinct effect, an instruction is written from an act and the screens before and after
    it. Apart from that, a check is made from the files and settings that changed: who writes the
    one never sees the other. A candidate is not a task yet; "hisa synth prove" executes it.

    DIR gets instructions.jsonl, candidates.jsonl, refused.jsonl (what became nothing, and why),
    and calls.jsonl (the model's turns).
    """
    from hisa.plugins.synthesis.writing import Wish, write_all

    wish = Wish(**{key: value for key, value in how.items() if key in Wish.__annotations__})
    settings = ctx.obj
    if how["model"]:
        planner = {key: how[key] for key in ("model", "profile") if how[key] is not None}
        models = settings.models.model_copy(
            update={"planner": settings.models.planner.model_copy(update=planner)}
        )
        limits = {k: how[k] for k in ("budget_usd", "budget_tokens") if how[k] is not None}
        run = settings.run.model_copy(update=limits)
        settings = settings.model_copy(update={"models": models, "run": run})
    tell = (lambda _: None) if as_json else say_error
    written = asyncio.run(write_all(settings if how["model"] else None, folder, wish, tell))
    _say(written, folder, as_json=as_json)


def _say(written: Written, folder: Path, *, as_json: bool) -> None:
    reasons = Counter(one.reason for one in written.refusals)
    ways = Counter(one.way for one in written.instructions)
    largest, share = written.largest_menu
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "writer": written.writer,
                "effects": written.effects,
                "instructions": dict(ways),
                "candidates": len(written.candidates),
                "refused": dict(reasons.most_common()),
                "largest_menu": {"name": largest, "share": round(share, 3)},
                "stopped": written.stopped,
                "spent": dict(written.spent),
            }
        )
        return
    counts = ", ".join(f"{count} {way.replace('_', '-')}" for way, count in ways.items())
    say(f"{written.effects} distinct effects; instructions by {written.writer}: {counts or 'none'}")
    say(f"{len(written.candidates)} candidates in {folder / 'candidates.jsonl'}")
    if largest:
        say(f"most are from one menu or dialog: {share:.0%}, {largest}")
    for reason, count in reasons.most_common():
        say(f"  {count:4} refused: {reason}")
    if written.stopped:
        say(f"ended early: {written.stopped}")
    if written.candidates:
        say(f"next:\n  hisa synth prove {folder} --workers 2")
