"""Has a model that need not see pick what is meant from a short list in words."""

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
"""Characters of a description that are shown."""
_ANSWER = re.compile(r"[\s{\"'`*]*(?:(?:element|number|index)\b[\s\"'`:#*]*)?(\d{1,3})[\s}\"'`.*]*")


async def ask_pick(
    model: Model, description: str, things: Sequence[str], image: Size
) -> tuple[int, str]:
    """Returns the number that a model picks, 0 for none, and why where it is no number.

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
    """The list as the model reads it."""
    lines = (f"{number} {words}" for number, words in enumerate(things, 1))
    return sections({"elements": "\n".join(lines)})
