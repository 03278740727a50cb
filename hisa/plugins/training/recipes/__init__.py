"""Recipes: a paper's settings of one training as a file, with what HiSA has no option for.

Settings have the names of the command's options. ``lacking`` and ``silent`` are for readers: what
the paper sets and HiSA has no option for, and what the paper does not say.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import UsageError

__all__ = ["CostFacts", "Recipe", "load_recipe", "recipe_option"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_LARGEST = 1 << 16
"""Most bytes of a recipe; the longest here has 3,000."""
_CLOSED = {"out", "resume", "recipe"}
"""Options of a single run, which a recipe cannot set."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class CostFacts(_Part):
    """What a paper says of the size of a training, and of what it took."""

    weights: float = Field(gt=0)
    turns: int = Field(gt=0)  # pairs of prompt and reply, over all epochs or updates
    tokens: int = Field(0, ge=0)  # of a prompt and its reply; 0: the paper does not say
    limits: bool = False  # whether turns or tokens are the paper's limits, not what it had
    trained: Literal["all", "adapter"] = "all"
    scored: int = Field(0, ge=0, le=10)  # passes without gradients: old log-probs, a reference
    generated: bool = False  # whether the model wrote the replies itself
    gpu: Literal["", "a100", "h100", "h200", "h800"] = ""  # what it took; empty: not said
    gpus: int = Field(0, ge=0)
    hours: float = Field(0, ge=0)


class Recipe(_Part):
    """A training of a paper."""

    command: Literal["lora", "grpo", "grounder"]  # after "hisa train"
    source: str  # the paper, and the places in it
    lacking: list[str]
    silent: list[str]
    settings: dict[str, Any]
    cost: CostFacts


def load_recipe(name: str) -> Recipe:
    """Returns a recipe.

    Args:
        name: of one that comes with HiSA, or a path that ends in ``.toml``.

    Raises:
        UsageError: there is no such file, or it is not a recipe; names the first wrong key.
    """
    files = {file.stem: file for file in Path(__file__).parent.glob("*.toml")}
    path = Path(name) if name.endswith(".toml") else files.get(name)
    if path is None or not path.is_file():
        known = ", ".join(sorted(files))
        raise UsageError(f"recipe {name!r}: there are {known}, and FILE.toml", fix="--recipe NAME")
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} bytes")
        return Recipe.model_validate(tomllib.loads(content.decode()))
    except ValidationError as error:
        first = error.errors()[0]
        key, allowed = ".".join(map(str, first["loc"])), ", ".join(Recipe.model_fields)
        message = f"{path}: {key}: {first['msg']}; a recipe has {allowed}"
        raise UsageError(message, fix="hisa train cost gta1-7b") from error
    except ValueError as error:
        raise UsageError(f"{path}: not a recipe: {error}", fix="hisa train cost gta1-7b") from error


def recipe_option(*names: str) -> Callable[[_Command], _Command]:
    """Returns the option ``--recipe`` of a command; ``names`` are those of its recipes."""
    return click.option(
        "--recipe",
        metavar="NAME|FILE",
        is_eager=True,  # before the options whose defaults it sets
        callback=_set_defaults,
        help=f"A paper's settings, behind stated options: {', '.join(names)}, or FILE.toml.",
    )


def _set_defaults(ctx: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Makes a recipe's settings the defaults of the command's options."""
    if name is None:
        return None
    recipe = load_recipe(name)
    if recipe.command != ctx.info_name:
        raise UsageError(
            f"recipe {name!r} is for another command", fix=f"hisa train {recipe.command} --help"
        )
    options = {
        text.removeprefix("--"): option.name
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.name not in _CLOSED
        for text in option.opts
    }
    if unknown := [key for key in recipe.settings if key not in options]:
        allowed = ", ".join(sorted(options))
        raise UsageError(
            f"recipe {name!r}: unknown setting {unknown[0]!r}; allowed are {allowed}",
            fix=f"hisa train {recipe.command} --help",
        )
    ctx.default_map = {options[key] or key: value for key, value in recipe.settings.items()}
    return name
