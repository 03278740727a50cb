"""The judge: picks one of several numbered candidates, or none (GTA1, section 3.1, appendix D.3).

It is asked in one way about replies for a step and about whole runs, and never sees a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import InvalidReply, ModelUnavailable
from hisa.events import Judged
from hisa.models.correction import with_correction
from hisa.models.tokens import prefix_within
from hisa.planner.reply import MAX_REPLY, find_object
from hisa.protocols import Emit, Message, Model, ModelReply, ModelRequest
from hisa.text.prompt_text import excerpt, printable

__all__ = ["Judge", "Judgement"]

_EXPLAINED = 600
"""Characters of the reasons that are kept: a prompt has to hold them."""
_SHOWN_TOKENS = 200
"""Of an unusable answer, as it is shown again."""
_TRIES = 2
"""Of a judge that may find none good; one that must pick is asked once."""
_NUMBER: Mapping[str, Any] = {"type": "integer"}
_NUMBER_OR_NONE: Mapping[str, Any] = {"anyOf": [_NUMBER, {"type": "null"}]}


@dataclass(frozen=True)
class Judgement:
    """A judge's answer about a list of candidates."""

    index: int | None = None
    """Counts from 1 on the list; None: it finds none good, or the answer is no judgement."""
    explaining: str = ""
    invalid: str = ""
    """Why the answer is no judgement; empty where it is one."""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    explaining: str
    index: int | None = Field(...)


class Judge:
    """Asks the judge's model, once more where the answer is no judgement.

    Args:
        model: serves the role ``judge``; it may be the planner's own.
        emit: gets a `Judged` for each answer.
        max_tokens: limit of an answer.
    """

    def __init__(self, model: Model, *, emit: Emit, max_tokens: int = 4096) -> None:
        self._model = model
        self._emit = emit
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """Returns the model's name."""
        return self._model.name

    async def judge(
        self, messages: Sequence[Message], numbers: Sequence[int], *, must_pick: bool = False
    ) -> Judgement:
        """Returns the judgement on a list of candidates.

        Args:
            messages: the question, which lists the candidates from 1 on.
            numbers: what each of them is called in the log.
            must_pick: it may refuse none, and is asked once (GTA1, section 3.1 and table 14).

        Raises:
            BudgetExceeded: from the model.
        """
        question = ModelRequest(
            role="judge",
            messages=tuple(messages),
            schema=_schema(must_pick),
            max_tokens=self._max_tokens,
        )
        request, judgement = question, Judgement()
        for _ in range(1 if must_pick else _TRIES):
            try:
                reply = await self._model.complete(request)
            except ModelUnavailable as error:
                judgement = Judgement(invalid=f"the judge cannot be asked: {error}")
                self._tell(numbers, judgement)
                break
            judgement = _read(reply, len(numbers), must_pick=must_pick)
            self._tell(numbers, judgement, reply.turn)
            if not judgement.invalid:
                break
            shown = prefix_within(printable(reply.text[:MAX_REPLY]), _SHOWN_TOKENS)
            demand = f"{judgement.invalid}. {_allowed(len(numbers))}"
            request = with_correction(question, replace(reply, text=shown), demand)
        return judgement

    def _tell(self, numbers: Sequence[int], judgement: Judgement, turn: str = "") -> None:
        self._emit(
            Judged(
                turn=turn,
                candidates=tuple(numbers),
                index=judgement.index,
                explaining=judgement.explaining,
                invalid=judgement.invalid,
            )
        )


def _schema(must_pick: bool) -> Mapping[str, Any]:
    index = _NUMBER if must_pick else _NUMBER_OR_NONE
    return {
        "type": "object",
        "properties": {"explaining": {"type": "string"}, "index": index},
        "required": ["explaining", "index"],
        "additionalProperties": False,
    }


def _allowed(count: int) -> str:
    return (
        'Answer with one JSON object {"explaining": "…", "index": …}; the index is a number from 1 '
        f"to {count}, or null where no candidate is good."
    )


def _read(reply: ModelReply, count: int, *, must_pick: bool) -> Judgement:
    if reply.finish == "length":
        return Judgement(invalid="the answer was cut off: be shorter")
    try:
        answer = _Answer.model_validate(find_object(printable(reply.text[:MAX_REPLY]), "index"))
    except ValidationError as error:
        wrong = (f"{item['loc'][0]!r}: {item['msg']}" for item in error.errors())
        return Judgement(invalid="; ".join(wrong))
    except InvalidReply as error:
        return Judgement(invalid=str(error))
    explaining = excerpt(answer.explaining, _EXPLAINED)
    if answer.index is None:
        refused = "the judge picked none, and has to pick one" if must_pick else ""
        return Judgement(explaining=explaining, invalid=refused)
    if not 1 <= answer.index <= count:
        wrong_index = f"'index' is {answer.index!r:.20}, of {count} candidates"
        return Judgement(explaining=explaining, invalid=wrong_index)
    return Judgement(answer.index, explaining)
