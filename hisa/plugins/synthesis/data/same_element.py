"""Check 2 by a vision model: whether two cuts show the same thing (OS-Catalyst, 3.2)."""

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

_FIELDS: dict[str, Any] = {
    "reason": {"type": "string", "maxLength": 600},
    "same": {"type": "string", "enum": ["yes", "no"]},
}


class _Answer(BaseModel):
    reason: str = Field(max_length=2_000)
    same: Literal["yes", "no"]


def require_eyes(writer: Writer | None) -> Writer:
    """The judging model. Raises: UsageError where there is none, or it takes no pictures."""
    if writer is None or not writer.sees:
        name = writer.model.name if writer else "no model"
        fix = "--model NAME, of a model that takes pictures"
        raise UsageError(f"--check model compares pictures, and {name} sees none", fix=fix)
    return writer


async def ask_about_pairs(writer: Writer, atoms: Sequence[Atom], pairs: list[Pair]) -> list[Pair]:
    """The pairs with the model's answers; none where there is no cut, or no usable reply.

    Raises: BudgetExceeded, ModelUnavailable from the model; OSError, ValueError for a bad look.
    """
    answered, system = list[Pair](), render("same_element")
    texts = {"task": "Do both pictures show the same element?"}
    for pair, (first, second) in zip(pairs, pairwise(atoms), strict=True):
        cuts = list[Any]()
        if "gap" not in pair.refusals and first.before and second.before:
            cuts = target_cuts(second, first.before, second.before)
        try:
            asked = (writer, system, texts, cuts, _FIELDS, _Answer, lambda _: None)
            same = (await ask_writer(*asked))[0].same == "yes" if cuts else None
        except InvalidReply:
            same = None
        answered.append(pair.model_copy(update={"same_by_model": same}))
    return answered
