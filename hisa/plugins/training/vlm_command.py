"""``hisa train grounder --model``: what its options become, and its run."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from hisa.errors import UsageError
from hisa.plugins.training.command_parts import is_stated, open_run, require_part
from hisa.plugins.training.language_commands import stored_model
from hisa.plugins.training.vlm_settings import EXTRA_TOKENS, VisionSettings

__all__ = ["fill_defaults", "train_vision_model"]


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
    own = [part.name for part in fields(VisionSettings) if part.metadata]
    if not (values["model"] or (values["resume"] and stored_model(out))):
        if stated := [name for name in own if values.pop(name) is not None]:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in stated)
            raise UsageError(f"{names}: only with a vision-language model", fix="--model hf:FOLDER")
        return False
    require_part("train-lm", "training a vision-language model")
    fill_defaults(ctx, values)
    with open_run(ctx, out, values, "updates", threads=None) as open_folder:
        from hisa.plugins.training.vlm_grounder import train_grounder

        train_grounder(open_folder, out, values)
    return True


def fill_defaults(ctx: click.Context, values: dict[str, Any]) -> None:
    """Fills in the options that neither the command line nor a recipe sets; see `VisionSettings`.

    A reply may have the tokens that its arm needs besides, unless the command line limits it. A
    resumed run is left as it is: what it stored is complete.
    """
    if values["resume"]:
        return
    for part in fields(VisionSettings):
        if part.name in values and part.name != "model" and not is_stated(ctx, part.name):
            values[part.name] = part.default
    if ctx.get_parameter_source("max_reply") is not ParameterSource.COMMANDLINE:
        values["max_reply"] += EXTRA_TOKENS[values["reward"]]
