"""The toolkit ``person``: questions to a person, and hand-over of the machine."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hisa.errors import ToolFailed
from hisa.protocols import Outcome
from hisa.tools.base import ToolContext
from hisa.tools.person import Inquiry, Person
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["PERSON"]

_LONGEST = 3600.0
Seconds = Annotated[float, Field(gt=0, le=_LONGEST, allow_inf_nan=False)]
_TEXT = 2_000
"""Characters of a question; a person reads it on a terminal."""
Text = Annotated[str, Field(min_length=1, max_length=_TEXT)]


def _person(context: ToolContext) -> Person:
    if context.person is None:
        raise ToolFailed("there is nobody who can be asked in this run")
    return context.person


@tool(reads=True, seconds=_LONGEST + 60)
async def ask(
    question: Text,
    context: ToolContext,
    choices: Annotated[tuple[str, ...], Field(max_length=9)] = (),
    default: str = "",
    seconds: Seconds = 300,
) -> Outcome:
    """Ask the person something that only they can know or decide.

    `choices` are answers to choose from; `default` is taken where nobody answers within `seconds`.
    Never ask for a password or a code: hand over instead.

    Examples:
        {"question": "Which of the two?", "choices": ["March", "April"], "default": "April"}
    """
    if choices and default and default not in choices:
        raise ToolFailed(f"default {default!r} is none of the choices {', '.join(choices)}")
    answer = await _person(context).ask(Inquiry("question", question, choices, default, seconds))
    if answer.by == "nobody":
        return Outcome(ok=False, error=f"nobody answered within {seconds:g} s")
    if answer.by == "default":
        return Outcome(ok=True, output=f"Nobody answered within {seconds:g} s; default: {default}")
    return Outcome(ok=True, output=f"The person answers: {answer.text}")


@tool(seconds=_LONGEST + 60, once=True)
async def hand_over(what: Text, context: ToolContext, seconds: Seconds = 600) -> Outcome:
    """Hand the machine to the person for something they must do: a captcha, a password, a choice.

    They do it at the machine's screen and say when they are done. Look at the screen afterwards.

    Examples:
        {"what": "Please type the code that your phone shows, and press Continue."}
    """
    answer = await _person(context).ask(Inquiry("hand_over", what, seconds=seconds))
    if answer.by == "nobody":
        return Outcome(ok=False, error=f"nobody took over within {seconds:g} s")
    remark = f", and says: {answer.text}" if answer.text else ""
    return Outcome(ok=True, output=f"The person gave the machine back{remark}")


PERSON = Toolkit("person", "a person", (ask, hand_over), Needs(frozenset({"person"})))
"""Available if somebody is at the terminal, or if `hisa.run` got a way to ask someone."""
