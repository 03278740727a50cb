"""Settings of the trainings; a field with a help text is also an option of its command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import click

__all__ = [
    "ClickSettings",
    "CloningSettings",
    "GrpoSettings",
    "LoraSettings",
    "build_settings",
    "options",
]

_S = TypeVar("_S")
_COUNT, _AT_LEAST_1 = click.IntRange(0, 1_000_000), click.IntRange(1)


def _option(default: Any, text: str, kind: Any = None) -> Any:
    return field(default=default, metadata={"help": text, "type": kind or type(default)})


def options(settings: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that gives a command an option for each field with a help text."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for part in reversed(fields(settings)):
            if part.metadata:
                name = f"--{part.name.replace('_', '-')}"
                keywords = {"default": part.default, "show_default": True, **part.metadata}
                command = click.option(name, **keywords)(command)
        return command

    return decorate


def build_settings(settings: type[_S], values: Mapping[str, Any]) -> _S:
    """Returns settings with the values of a command's options; other values are ignored."""
    names = settings.__dataclass_fields__.keys() & values.keys()  # type: ignore[attr-defined]
    return settings(**{name: values[name] for name in names})


@dataclass(frozen=True, slots=True)
class CloningSettings:
    """Settings of cloning.

    The paper has 3 epochs over 180,000 steps. 6 demonstrations each of three pages have only 33
    steps: with these, 3 epochs teach little, and 30 suffice (tried by hand).
    """

    epochs: int = _option(30, "Passes over all steps.", click.IntRange(1, 10_000))
    batch: int = _option(16, "Steps per update.", _AT_LEAST_1)
    lr: float = _option(1e-3, "Constant learning rate of AdamW.")
    steps_at_once: int = 256  # steps of one forward pass; this only bounds memory
    seed: int = 0  # of the order of samples


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """Settings of cloning by a language model.

    The paper's RL starts after one epoch. Its rate of 1e-5 is for all weights; adapters are usually
    trained at ten times that.
    """

    epochs: int = _option(1, "Passes over all turns.", click.IntRange(1, 1000))
    batch: int = _option(8, "Turns per update.", _AT_LEAST_1)
    lr: float = _option(1e-4, "Constant learning rate of AdamW.")
    rank: int = _option(16, "Rank of the adapter; its alpha is twice that.", click.IntRange(1, 256))
    most_tokens: int = _option(2048, "Leave out turns with more.", click.IntRange(16))
    hold_out: float = _option(0.1, "Share of the runs held out.", click.FloatRange(0, 0.9))
    evaluate_every: int = _option(20, "Updates between losses on held-out runs; 0: ends.", _COUNT)
    seed: int = _option(0, "Of the adapter, the order and the held-out runs.", _COUNT)


@dataclass(frozen=True, slots=True)
class GrpoSettings:
    """Settings of a GRPO run; as in table 6 of the paper if it has them and two cores allow.

    24 groups of 8 improve a page that the demonstrations lack; 6 groups of 8 do not (one seed
    each).
    """

    updates: int = _option(100, "Updates in all.", _AT_LEAST_1)
    groups: int = _option(24, "Groups per update; the tasks take turns.", _AT_LEAST_1)
    group_size: int = _option(8, "Episodes per group.", click.IntRange(2))
    lr: float = _option(2e-4, "Constant learning rate of AdamW.")
    kl: float = _option(0.0003, "Weight of the KL to the reference.")
    clip: float = _option(0.2, "Clip of the ratio, down and up.", click.FloatRange(0, 1))
    evaluate_every: int = _option(5, "Updates between greedy scores; 0: never.", _COUNT)
    pulse_at: int = _option(0, "Update that is Entropulse's phase; 0: none.", _COUNT)
    arm: str = _option("pulse", "See above.", click.Choice(["pulse", "control", "higher-clip"]))
    pulse_lr: float = 5e-4  # of Entropulse: half of cloning's
    passes: int = 4  # optimiser steps per update, each over the whole batch; the first number tried
    steps_at_once: int = 256  # steps of one forward pass; this only bounds memory
    evaluation_seeds: int = 20  # instances of each task for a greedy score
    weighted: bool = True  # whether older episodes are weighted by importance
    decoupled: bool = False  # whether another program computed the samples' log-probabilities
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ClickSettings:
    """Settings of a grounder's training; N, clip, norm and a constant rate as in GTA1's table 7."""

    reward: str = _option(
        "click", "Arm of table 6.", click.Choice(["click", "click+iou", "click+format", "all"])
    )
    cold_start: int = _option(100, "Supervised steps before GRPO; 100 give 0.6 right.", _COUNT)
    updates: int = _option(1400, "Steps of GRPO.", _COUNT)
    seed: int = _option(0, "Of weights, batches and replies.", click.IntRange(0, 200))
    rate: float = 3e-4  # of GRPO. 2e-3 undid a cold start, 3e-4 did not.
    cold_rate: float = 2e-3  # of the cold start
    entropy_bonus: float = 0.0  # weight of the cells' mean entropy in the objective; 0 as in eq. 4
    batch: int = 64  # targets per step
    members: int = 8  # replies per target, N
    clip: float = 0.2
    norm: float = 1.0
    channels: int = 32  # of the network's features
