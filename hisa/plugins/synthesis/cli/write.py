"""``hisa synth write``: instructions and candidates from what was explored."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, json_option, print_json, say, say_error

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.writing import WriterSettings, Written

__all__ = ["model_settings", "write"]

_EXAMPLES = examples(
    "hisa synth write pads",
    "hisa --set run.budget_usd=2 synth write pads --model gpt-5",
    "hisa synth write pads --model gguf:coder-1.5b --limit 5",
    "hisa synth write pads --goal broad --model gpt-5 --limit 20",
)


@click.command("write", epilog=_EXAMPLES)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--model", metavar="NAME", help="Writes the instructions; without one, rules do.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="New instructions, at most.")
@click.option(
    "--goal",
    type=click.Choice(["effect", "broad"]),
    default="effect",
    show_default=True,
    help="What each act shows it can do, or a wider task that it is a step of (takes a model).",
)
@click.option(
    "--references",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="The paper's two references, N each: tasks that a model thinks of on first screens (0).",
)
@click.option("--seed", type=int, default=0, help="Of the examples that are drawn (0).")
@json_option
@click.pass_context
def write(ctx: click.Context, /, folder: Path, *, as_json: bool, **how: Any) -> None:
    """Write instructions for what DIR holds of an exploration, and make candidates of tasks.

    For each distinct effect, an instruction is written from an act and the screens before and after
    it. Apart from that, a check is made from the files and settings that changed: who writes the
    one never sees the other. A candidate is not a task yet; "hisa synth prove" executes it.

    --goal broad asks a model for a wider task that each act is a step of. Such a goal has no check
    and is never proved: it goes to DIR/goals/ID, for "hisa bench run own:DIR/goals".

    DIR gets instructions.jsonl, candidates.jsonl, refused.jsonl (what became nothing, and why),
    and calls.jsonl (the model's turns).
    """
    from hisa.plugins.synthesis.writing import Wish, write_all

    settings = model_settings(ctx.obj, how["model"]) if how["model"] else None
    wish = Wish(**{key: value for key, value in how.items() if key in Wish.__annotations__})
    tell = (lambda _: None) if as_json else say_error
    _say(asyncio.run(write_all(settings, folder, wish, tell)), folder, as_json=as_json)


def model_settings(settings: Settings, model: str) -> WriterSettings:
    """The settings of a model that writes."""
    from hisa.plugins.synthesis.writing import WriterSettings

    own = settings.models.planner.model_copy(update={"model": model})
    models = settings.models.model_copy(update={"planner": own})
    return WriterSettings(models, settings.planner, settings.run)


def _say(written: Written, folder: Path, *, as_json: bool) -> None:
    reasons = Counter(one.reason for one in written.refusals)
    ways = Counter(one.way for one in written.instructions)
    if as_json:
        counts = {"candidates": len(written.candidates), "instructions": ways, "refused": reasons}
        names = ("writer", "effects", "stopped", "spent")
        report = {name: getattr(written, name) for name in names}
        print_json({"folder": str(folder)} | counts | report)
        return
    kinds = ", ".join(f"{count} {way.replace('_', '-')}" for way, count in ways.items())
    say(f"{written.effects} distinct effects; instructions by {written.writer}: {kinds or 'none'}")
    if written.wish.goal == "broad":
        say(f"{len(written.of_way('broad'))} broader goals in {folder / 'goals'}")
    else:
        say(f"{len(written.candidates)} candidates in {folder / 'candidates.jsonl'}")
    for reason, count in reasons.most_common():
        say(f"  {count:4} refused: {reason}")
    if written.stopped:
        say(f"ended early: {written.stopped}")
    if written.wish.goal == "broad" and written.of_way("broad"):
        say(f"next:\n  hisa bench run own:{folder}/goals --model NAME --out benches/goals")
    elif written.candidates:
        say(f"next:\n  hisa synth prove {folder} --workers 2")
