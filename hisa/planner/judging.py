"""The judge: picks one of several numbered candidates, or none (GTA1, section 3.1, appendix D.3).

It is asked once, in the same way about replies for a step as about whole runs, and never sees a
score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import InvalidReply, ModelUnavailable
from hisa.events import Judged
from hisa.planner.reply import MAX_REPLY, find_object
from hisa.protocols import Emit, Message, Model, ModelReply, ModelRequest
from hisa.text.prompt_text import excerpt, printable

__all__ = ["Judge", "Judgement"]

_EXPLAINED = 600
"""Most characters of the reasons to keep: they have to fit in a prompt."""
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "explaining": {"type": "string"},
        "index": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["explaining", "index"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Judgement:
    """A judge's answer about a list of candidates."""

    index: int | None = None
    """Number in the list, from 1; None: the judge picks none, or the answer is invalid."""
    explaining: str = ""
    invalid: str = ""
    """Why the answer is invalid; empty if it is valid."""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    explaining: str
    index: int | None = Field(...)


class Judge:
    """Asks the judge's model.

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

    async def judge(self, messages: Sequence[Message], numbers: Sequence[int]) -> Judgement:
        """Returns the judgement on a list of candidates.

        Args:
            messages: the question, which lists the candidates from 1 on.
            numbers: what each of them is called in the log.

        Raises:
            BudgetExceeded: from the model.
        """
        request = ModelRequest(
            role="judge", messages=tuple(messages), schema=_SCHEMA, max_tokens=self._max_tokens
        )
        turn = ""
        try:
            reply = await self._model.complete(request)
        except ModelUnavailable as error:
            judgement = Judgement(invalid=f"the judge cannot be asked: {error}")
        else:
            judgement, turn = _read(reply, len(numbers)), reply.turn
        self._emit(Judged(turn=turn, candidates=tuple(numbers), **asdict(judgement)))
        return judgement


def _read(reply: ModelReply, count: int) -> Judgement:
    if reply.finish == "length":
        return Judgement(invalid="the answer was cut off")
    try:
        answer = _Answer.model_validate(find_object(printable(reply.text[:MAX_REPLY]), "index"))
    except ValidationError as error:
        wrong = (f"{item['loc'][0]!r}: {item['msg']}" for item in error.errors())
        return Judgement(invalid="; ".join(wrong))
    except InvalidReply as error:
        return Judgement(invalid=str(error))
    explaining = excerpt(answer.explaining, _EXPLAINED)
    if answer.index is not None and not 1 <= answer.index <= count:
        wrong_index = f"'index' is {answer.index!r:.20}, of {count} candidates"
        return Judgement(explaining=explaining, invalid=wrong_index)
    return Judgement(answer.index, explaining)
