"""``hisa train grounder --model``: its settings, with GTA1's table 7 as presets, and its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from hisa.errors import UsageError

__all__ = ["PRESETS", "VisionSettings", "fill_preset", "train_vision_model"]

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "gta1-7b": {"lr": 1e-6, "max_reply": 32},
    "gta1-32b": {"lr": 1e-5, "max_reply": 128},
}
"""What the columns of table 7 differ in; the rest of it are the defaults of `VisionSettings`."""
_LONGER = {"click": 0, "click+iou": 32, "click+format": 480, "all": 512}
"""Tokens that a reply may have besides its point: a box has at most 30, and no paper says how long
a thought may be."""


def _option(default: Any, text: str, kind: Any) -> Any:
    """Returns a field that is also an option, whose default `fill_preset` fills in."""
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
    preset: str = _option("gta1-7b", "Column of table 7 (gta1-7b).", click.Choice([*PRESETS]))
    lr: float = _option(1e-6, "Constant rate of AdamW (preset's).", click.FloatRange(0, 1))
    targets: int = _option(32, "Targets per update (32).", click.IntRange(1, 4096))
    lora: int = _option(0, "Rank of LoRA; 0: all weights are trained (0).", click.IntRange(0, 512))
    max_reply: int = _option(32, "Tokens of a reply (preset's).", click.IntRange(1, 8192))
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


def train_vision_model(ctx: click.Context, out: Path, values: dict[str, Any]) -> bool:
    """Trains the vision-language model that the command or the run names, if one does.

    If none does, the options that need one are removed from the values.

    Args:
        ctx: of the command ``hisa train grounder``.
        out: folder of the run.
        values: of its options, changed in place.

    Returns:
        Whether there was a model.

    Raises:
        UsageError: an option, the model, a target or a gate does not allow it.
        LibraryLacking: transformers or peft is not installed.
    """
    from hisa.plugins.training.command_parts import open_run, require_part
    from hisa.plugins.training.training_folder import read_settings

    own = [part.name for part in fields(VisionSettings) if part.metadata]
    if not (values["model"] or (values["resume"] and read_settings(out).get("model"))):
        if stated := [name for name in own if values.pop(name) is not None]:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in stated)
            raise UsageError(f"{names}: only with a vision-language model", fix="--model hf:FOLDER")
        return False
    require_part("train-lm", "training a vision-language model")
    fill_preset(ctx, values)
    with open_run(ctx, out, values, "updates", threads=None) as open_folder:
        from hisa.plugins.training.vlm_grounder import train_grounder

        train_grounder(open_folder, out, values)
    return True


def fill_preset(ctx: click.Context, values: dict[str, Any]) -> None:
    """Replaces options that were not stated by those of the preset; see `VisionSettings`.

    A resumed run is left as it is: what it stored is complete.
    """
    if values["resume"]:
        return
    values["preset"] = values["preset"] or "gta1-7b"
    preset = dict(PRESETS[values["preset"]])
    preset["max_reply"] += _LONGER[values["reward"]]
    for part in fields(VisionSettings):
        unstated = ctx.get_parameter_source(part.name) is not ParameterSource.COMMANDLINE
        if part.name in values and unstated and part.name not in ("model", "preset"):
            values[part.name] = preset.get(part.name, part.default)
