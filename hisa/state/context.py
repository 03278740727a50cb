"""Level 2: folds the older steps into one summary, R_k = Φ(R_{k-1}, new steps) (HiSA, eq. 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import shorten

from hisa.models.tokens import estimate_tokens
from hisa.outcomes.verdicts import split_verdict
from hisa.protocols import Message, Model, ModelRequest, Task, TextPart
from hisa.state.base import NewSteps
from hisa.state.noted_values import build_values_line, without_values
from hisa.state.token_limits import ask_within, cut_at_sentence, cut_at_word, words_of
from hisa.text.prompt_text import clean, excerpt, sections
from hisa.text.prompts import render

__all__ = ["ContextRefiner", "shorten_line"]

_AT = re.compile(
    r"(pyautogui\.(?:\w*[cC]lick|moveTo|dragTo|mouseDown|mouseUp)\()"
    r"(?:x=)?-?\d+(?:\.\d+)?,\s*(?:y=)?-?\d+"
)
_STEP_HEAD = re.compile(r"^Step \d+: ")
_RANGE = re.compile(r"\W*Steps?\s+\d+", re.IGNORECASE)
_RESULT = " | Result: "


class ContextRefiner:
    """Asks a model for the summary, and keeps concrete values in a line below it.

    Args:
        model: the state role's model.
        tokens: hard limit of the summary with its values.
        by_facts: whether the summary is written without a model, from the shortened step lines;
            the steps of a stored program are always summarized so.
    """

    def __init__(self, model: Model, tokens: int, *, by_facts: bool = False) -> None:
        self._model = model
        self._tokens = tokens
        self._by_facts = by_facts

    async def refine(
        self, task: Task, previous: str, *, steps: NewSteps, first: int, last: int
    ) -> str:
        """Returns the summary of steps ``first`` to ``last``.

        Args:
            task: the task; the model reads its instruction.
            previous: the summary so far; empty at first.
            steps: the steps since the summary so far.
            first: number of the first step that the new summary covers.
            last: number of the last step that it covers: that of the last line.

        Raises:
            ModelUnavailable, BudgetExceeded: from the model.
        """
        values = build_values_line(previous, steps, self._tokens)
        beside = "\n".join(filter(None, (values, steps.notes)))
        room = self._tokens - (estimate_tokens(beside) + 1 if beside else 0)
        previous = without_values(previous)
        lines = [_without_unproven(line) for line in steps.lines]
        text, span = "", f"Steps {first}~{last}: "
        if not (self._by_facts or steps.by_program):
            request = _build_request(task, previous, lines, room, first=first, last=last)
            text = without_values(await ask_within(self._model, request, room))
        if not any(char.isalnum() for char in text):
            text = _own_summary(previous, lines, room, span=span)
        elif not _RANGE.match(text):
            text = span + text
        text = cut_at_sentence(text, room)
        return f"{text}\n{values}" if values else text


def _build_request(
    task: Task, previous: str, lines: Sequence[str], room: int, *, first: int, last: int
) -> ModelRequest:
    system = render("context_refinement", first=first, last=last, limit=room, words=words_of(room))
    texts = {
        "task": clean(task.instruction),
        "previous_summary": previous,
        "new_steps": "\n".join(lines),
    }
    return ModelRequest(
        role="state",
        messages=(
            Message("system", (TextPart(system),)),
            Message("user", (TextPart(sections(texts)),)),
        ),
    )


def _without_unproven(line: str) -> str:
    """Returns the line, without coordinates unless the step succeeded."""
    if split_verdict(line.partition(_RESULT)[2])[0] == "succeeded":
        return line
    return _AT.sub(lambda match: f"{match[1]}…", line)


def _own_summary(previous: str, lines: Sequence[str], tokens: int, *, span: str) -> str:
    """Returns a summary made without a model: the shortened steps, then the old summary.

    The old summary is cut to the room that is left.
    """
    steps = span + "; ".join(map(shorten_line, lines))
    if not previous:
        return cut_at_word(steps, tokens)
    steps = cut_at_word(f"{steps}.", tokens * 3 // 4)
    earlier = cut_at_word(previous, tokens - estimate_tokens(steps) - 4)
    return f"{steps} Earlier: {earlier}" if earlier else steps


def shorten_line(line: str) -> str:
    """Returns tool, input and result of a step line, without its thought."""
    head, _, result = line.partition(_RESULT)
    call, *fields = head.split(" | ")
    source = next((field[7:] for field in fields if field.startswith("Input: ")), "")
    number = _STEP_HEAD.match(call)
    name = call[number.end() :] if number else call
    return f"{name} {excerpt(source, 60)}: {_shorten_result(result.rstrip('.'))}"


def _shorten_result(result: str) -> str:
    """Returns beginning and end of a result; if it quotes the screen, only the beginning.

    Cut in the middle, the beginning of one quotation and the end of another would read as one. A
    quotation that the cut leaves open is closed for the same reason.
    """
    if "“" not in result or result.startswith("Failed."):
        return excerpt(result, 80)
    text = shorten(result, 80, placeholder=" …")
    return f"{text}”" if text.rfind("“") > text.rfind("”") else text
