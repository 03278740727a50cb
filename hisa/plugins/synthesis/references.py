"""The paper's two references by the same model: task-driven, and self-instruct (OS-Genesis, E)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from hisa.errors import InvalidReply
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.model_instructions import Line, Writer, ask, element_lines
from hisa.plugins.synthesis.records import State
from hisa.plugins.synthesis.task_records import Instruction
from hisa.screen.observation import Screenshot
from hisa.text.prompt_text import one_line, untrusted
from hisa.text.prompts import render

__all__ = ["reference_batch"]

_BATCH, _SCREENS, _SHOWN = 5, 4, 40
"""Tasks of one reply, first screens, and earlier tasks that are shown. Chosen by hand."""
_WARM = 0.7
"""Temperature: at 0, what was drawn again would be answered again. Chosen by hand."""
_DRAWN = 3
"""Examples that are drawn for each iteration of self-instruct (E.2)."""


class _Ideas(BaseModel):
    instructions: list[Line] = Field(min_length=1, max_length=50)


async def reference_batch(
    writer: Writer,
    exploration: Exploration,
    way: Literal["task_driven", "self_instruct"],
    written: Sequence[Instruction],
    *,
    seed: int,
) -> list[Instruction]:
    """One reply's new tasks, at most five, none of which was there already.

    Args:
        writer: asked with the first screens, never with triples.
        exploration: whose first screens they are.
        way: self-instruct draws its examples from what is task-driven.
        written: the references so far.
        seed: of the draw; the same draws come again with the same tasks written.

    Raises:
        InvalidReply: no usable reply, also when asked again, or nothing new in it.
        BudgetExceeded, ModelUnavailable: from the model.
    """
    shown = [one.high for one in written if one.way == way][-_SHOWN:]
    drawn = way == "self_instruct"
    if drawn:
        pool = [one.high for one in written if one.way == "task_driven"]
        shown = random.Random(f"{seed} {len(shown)}").sample(pool, min(_DRAWN, len(pool)))
    known = {one.high.casefold() for one in written}

    def fits(ideas: _Ideas) -> None:
        if all(one_line(idea).casefold() in known for idea in ideas.instructions):
            raise InvalidReply("every one of them is there already")

    states = _first_screens(exploration)
    texts = {"task": f"The application: {exploration.subject.title}."}
    if not writer.sees:
        screens = (element_lines(exploration.elements(state), None) for state in states)
        texts[untrusted("elements")] = "\n\n".join(screens)
    texts["candidates"] = "\n".join(shown) or "None yet."
    pictures = (Screenshot.from_png(exploration.picture(one).read_bytes()) for one in states)
    properties = {"instructions": {"type": "array", "items": {"type": "string"}}}
    system = render("first_screen_tasks", pictures=writer.sees, drawn=drawn, count=_BATCH)
    ideas, turn = await ask(
        writer, system, texts, pictures, properties, _Ideas, fits, temperature=_WARM
    )
    new = dict.fromkeys(one_line(idea) for idea in ideas.instructions)
    return [
        Instruction(triples=(), writer=writer.model.name, way=way, sub="", high=high, turn=turn)
        for high in [idea for idea in new if idea.casefold() not in known][:_BATCH]
    ]


def _first_screens(exploration: Exploration) -> list[State]:
    """The fresh start, and the first screens that one act led to."""
    near = [one.after for one in exploration.triples if one.before == exploration.root]
    ids = dict.fromkeys([exploration.root, *(one for one in near if one)])
    return [exploration.states[one] for one in ids][:_SCREENS]
