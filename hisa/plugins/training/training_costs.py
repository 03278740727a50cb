"""``hisa train cost``: GPU hours of a recipe by a formula, beside what the paper says it took."""

from __future__ import annotations

from typing import Any

import click

from hisa.cli.out import examples, say
from hisa.errors import UsageError
from hisa.plugins.training.recipes import CostFacts, load_recipe

__all__ = ["PEAKS", "cost", "count_operations", "gpu_hours"]

PEAKS = {"a100": 312.0, "h100": 989.0, "h200": 989.0, "h800": 989.0}
"""Dense bfloat16 TFLOPS of the SXM models by NVIDIA's data sheets, which print twice that for
Hopper: with sparsity."""


def count_operations(facts: CostFacts) -> int:
    """Returns the floating-point operations that a training takes for each token and weight.

    They are 6 if the weight is trained, 4 if only an adapter is, and 2 for each pass without
    gradients.
    """
    trained = 6 if facts.trained == "all" else 4
    return trained + 2 * facts.scored + 2 * facts.generated


def gpu_hours(flops: float, gpu: str, use: float) -> float:
    """Returns the hours on one GPU at a share of its peak.

    Args:
        flops: operations in all.
        gpu: a name in `PEAKS`.
        use: the share of the peak, 0 to 1.
    """
    return flops / (PEAKS[gpu] * 1e12 * use * 3600)


@click.command(
    epilog=examples(
        "hisa train cost gta1-7b",
        "hisa train cost computerrl-grpo --gpu a100 --tokens 9000",
        "hisa train cost os-genesis --tokens 3000 --trained adapter",
    )
)
@click.argument("name", metavar="RECIPE")
@click.option("--gpu", type=click.Choice([*PEAKS]), help="(the paper's, or h100)")
@click.option("--use", type=click.FloatRange(0.001, 1), default=0.4, help="Of its peak (0.4).")
@click.option("--weights", type=click.FloatRange(1), help="Of the model (the paper's).")
@click.option("--turns", type=click.IntRange(1), help="Prompts with replies (the paper's).")
@click.option("--tokens", type=click.IntRange(1), help="Of a turn, in the mean (the paper's most).")
@click.option("--trained", type=click.Choice(["all", "adapter"]), help="Weights (the paper's).")
def cost(name: str, gpu: str | None, use: float, **changes: Any) -> None:
    """Print the GPU hours of a recipe, by a formula with its assumptions.

    RECIPE is one that comes with HiSA, or FILE.toml. The hours that the paper took stand beside
    it, unless weights or turns are yours.
    \f

    Args:
        name: of the recipe.
        gpu: a name in `PEAKS`; None: the paper's.
        use: share of the peak.
        changes: of `CostFacts`; None: the paper's.
    """
    recipe = load_recipe(name)
    paper = recipe.cost
    changed = {key: value for key, value in changes.items() if value is not None}
    facts = paper.model_copy(update=changed)
    if not facts.tokens:
        raise UsageError(f"{recipe.source}: the paper does not say the tokens", fix="--tokens 4000")
    device, operations = gpu or paper.gpu or "h100", count_operations(facts)
    flops = operations * facts.weights * facts.turns * facts.tokens
    hours = gpu_hours(flops, device, use)
    say(f"{name}: {recipe.source}")
    size = f"{facts.turns:,} turns x {facts.tokens:,} tokens x {facts.weights:.3g} weights"
    say(f"{operations} x {size} = {flops:.3g} FLOPs")
    rest = f"2 x {facts.scored} to score it, 2 x {int(facts.generated)} to generate it"
    say(f"  for each token and weight: 6, or 4 with an adapter, to train it, {rest}")
    say(f"at {use:.0%} of the {PEAKS[device]:.0f} TFLOPS of {device}: {hours:,.1f} GPU hours")
    if paper.limits and not {"tokens", "turns"} <= changed.keys():
        say("  with the paper's limits of turns and tokens, where it gives no means")
    if not (paper.hours and paper.gpu):
        say("the paper does not say what it took")
    elif not {"weights", "turns", "trained"} & changed.keys():
        took = paper.gpus * paper.hours
        times = took / gpu_hours(flops, paper.gpu, use)
        say(f"the paper: {paper.gpus} {paper.gpu} for {paper.hours:g} hours, {took:,.0f} GPU hours")
        say(f"  which is {times:.2g} times the formula's")
    say("Assumed: all tokens cost alike in every pass, prompts are read anew for each reply, and")
    say(f"{use:.0%} of the peak is reached throughout, in generation too. Not counted: attention")
    say("over the context, the vision tower's larger grid, and waiting for machines.")
    for line in recipe.silent:
        say(f"The paper is silent on: {line}")
    for line in recipe.lacking:
        say(f"HiSA lacks: {line}")
