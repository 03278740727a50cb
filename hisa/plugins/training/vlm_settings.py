"""Settings of a vision-language grounder's training; the defaults are those of GTA1-7B."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import click

__all__ = ["EXTRA_TOKENS", "VisionSettings"]

EXTRA_TOKENS = {"click": 0, "click+iou": 32, "click+format": 480, "all": 512}
"""Tokens that a reply may have besides its point: a box has at most 30, and no paper says how long
a thought may be."""


def _option(default: Any, text: str, kind: Any) -> Any:
    """Returns a field that is also an option, whose default `fill_defaults` fills in."""
    metadata = {"help": text, "type": kind, "default": None, "show_default": False}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class VisionSettings:
    """Settings of a training on a vision-language model: those of GTA1's table 7 if it has them.

    The paper has 256 samples a batch and does not say whether these are targets or replies: here 32
    targets with 8 replies each. It does not say either whether a batch has several steps of the
    optimiser: here it has one.
    """

    model: str = _option("", "Train this vision-language model instead: hf:FOLDER or hf:NAME.", str)
    lr: float = _option(1e-6, "Constant rate of AdamW (1e-6).", click.FloatRange(0, 1))
    targets: int = _option(32, "Targets per update (32).", click.IntRange(1, 4096))
    lora: int = _option(0, "Rank of LoRA; 0: all weights are trained (0).", click.IntRange(0, 512))
    max_reply: int = _option(32, "Tokens of a reply (32).", click.IntRange(1, 8192))
    max_pixels: int = _option(12_356_789, "Area of a picture (12356789).", click.IntRange(784))
    rows_at_once: int = _option(8, "Replies of one pass; bounds memory (8).", click.IntRange(1))
    save_every: int = _option(10, "Updates between two checkpoints (10).", click.IntRange(1))
    reward: str = "click"
    cold_start: int = 0
    updates: int = 250
    seed: int = 0
    cold_lr: float = 1e-5  # of supervised steps
    members: int = 8  # replies per target, N
    clip: float = 0.2
    norm: float = 1.0  # most of the gradient
    max_tokens: int = 32_768  # of a prompt with its picture and a reply
