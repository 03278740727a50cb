"""Check 2 by a vision model: whether two cuts of one place show the same thing (OS-Catalyst, 3.2).

The model gets the place of the second action's target on the looks before both actions, and says
yes or no after its reasons; what it says stands beside what the rules say of "region".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

from pydantic import BaseModel, Field

from hisa.errors import InvalidReply, UsageError
from hisa.plugins.synthesis.data.atoms import Atom, Pair, target_cuts
from hisa.plugins.synthesis.model_instructions import Writer, ask_writer
from hisa.text.prompts import render

__all__ = ["ask_about_pairs", "require_eyes"]


class _Answer(BaseModel):
    reason: str = Field(max_length=2_000)
    same: Literal["yes", "no"]


def require_eyes(writer: Writer | None) -> Writer:
    """The model that is asked. Raises: UsageError where there is none, or it takes no pictures."""
    if writer is None or not writer.sees:
        name = writer.model.name if writer else "no model"
        message = f"--check model compares pictures, and {name} sees none"
        raise UsageError(message, fix="--model NAME, of a model that takes pictures")
    return writer


async def ask_about_pairs(
    writer: Writer, atoms: Sequence[Atom], pairs: Sequence[Pair]
) -> list[Pair]:
    """The pairs with the model's answers; none where there is nothing to cut, or no usable reply.

    Raises:
        BudgetExceeded, ModelUnavailable: from the model.
        OSError, ValueError: a look is gone or damaged.
    """
    answered: list[Pair] = []
    for pair, (first, second) in zip(pairs, pairwise(atoms), strict=True):
        same: bool | None = None
        if "gap" not in pair.refusals and first.before and second.before:
            cuts = target_cuts(second, first.before, second.before)
            same = await _says_same(writer, cuts) if cuts else None
        answered.append(pair.model_copy(update={"same_by_model": same}))
    return answered


async def _says_same(writer: Writer, cuts: Sequence[Any]) -> bool | None:
    fields: dict[str, Any] = {
        "reason": {"type": "string", "maxLength": 600},
        "same": {"type": "string", "enum": ["yes", "no"]},
    }
    texts = {"task": "Do both pictures show the same element?"}
    try:
        reply, _ = await ask_writer(
            writer, render("same_element"), texts, cuts, fields, _Answer, lambda _: None
        )
    except InvalidReply:
        return None
    return reply.same == "yes"
