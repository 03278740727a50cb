"""Has a model, which need not see pictures, pick the described element from a short list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hisa.models.correction import with_correction
from hisa.protocols import Message, Model, ModelRequest, TextPart
from hisa.screen.geometry import Size
from hisa.text.prompt_text import excerpt, sections
from hisa.text.prompts import render

__all__ = ["LIST_TOKENS", "ask_pick", "list_text"]

LIST_TOKENS = 700
"""Most tokens of a list, by the upper estimate."""
_DESCRIPTION = 600
"""Most characters of a description that are shown."""
_ANSWER = re.compile(r"[\s{\"'`*]*(?:(?:element|number|index)\b[\s\"'`:#*]*)?(\d{1,3})[\s}\"'`.*]*")


async def ask_pick(
    model: Model, description: str, things: Sequence[str], image: Size
) -> tuple[int, str]:
    """Returns the number that a model picks, 0 for none, and the reason if it is not valid.

    Args:
        model: the model to ask.
        description: the planner's words for the target.
        things: the elements to choose from, in words.
        image: size of the picture, for positions in the list.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    system = render("element_choice", width=round(image.width), height=round(image.height))
    text = f"Description: {excerpt(description, _DESCRIPTION)}\n{list_text(things)}"
    request = ModelRequest(
        "grounder",
        (Message("system", (TextPart(system),)), Message("user", (TextPart(text),))),
    )
    answer = ""
    for _ in range(2):
        reply = await model.complete(request)
        answer = reply.text.strip()
        match = _ANSWER.fullmatch(answer)
        if match and int(match[1]) <= len(things):
            return int(match[1]), ""
        demand = f"That is no number from 0 to {len(things)}. Answer with the number alone."
        request = with_correction(request, replace(reply, text=answer), demand, shown=200)
    return 0, f"the answer is no number of the list: {excerpt(answer, 80)!r}"


def list_text(things: Sequence[str]) -> str:
    """Returns the list as the model reads it."""
    lines = (f"{number} {words}" for number, words in enumerate(things, 1))
    return sections({"elements": "\n".join(lines)})
