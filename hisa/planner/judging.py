"""The judge: picks one of several candidate calls, or none (GTA1, section 3.1 and appendix D.3).

It sees what the planner saw and the candidates as data. Those that would do the same are listed
once, so that their number does not sway it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import InvalidReply, ModelUnavailable
from hisa.events import Judged
from hisa.models.correction import with_correction
from hisa.models.tokens import estimate_tokens
from hisa.planner.reply import MAX_REPLY, find_object
from hisa.planner.side_by_side import Texts, shortened
from hisa.protocols import (
    Emit,
    GroundedCall,
    Message,
    Model,
    ModelReply,
    ModelRequest,
    TextPart,
    ToolCall,
)
from hisa.text.prompt_text import excerpt, printable, sections, without_tags
from hisa.text.prompts import render

__all__ = ["CANDIDATE_TOKENS", "Candidate", "Judge", "Judgement"]

CANDIDATE_TOKENS = 2000
"""Most tokens of all candidates together: eight of the length that planners write, uncut."""
_EXPLAINED = 600
"""Characters of the reasons that are kept: a prompt has to hold them."""
_TRIES = 2
"""Of a judge that may find none good; one that must pick is asked once."""
_LITTLE = 160
"""Characters of a text that still tell what it does; chosen by hand."""

_NUMBER: Mapping[str, Any] = {"type": "integer"}
_NUMBER_OR_NONE: Mapping[str, Any] = {"anyOf": [_NUMBER, {"type": "null"}]}


def _schema(must_pick: bool) -> Mapping[str, Any]:
    index = _NUMBER if must_pick else _NUMBER_OR_NONE
    return {
        "type": "object",
        "properties": {"explaining": {"type": "string"}, "index": index},
        "required": ["explaining", "index"],
        "additionalProperties": False,
    }


@dataclass(frozen=True)
class Candidate:
    """A usable reply to the planner's question.

    ``grounded`` has its targets where they were found; ``not_found`` says why they were not. Two
    with the same ``key`` would do the same.
    """

    n: int
    call: ToolCall
    grounded: GroundedCall
    not_found: str = ""
    key: str = ""

    @property
    def is_found(self) -> bool:
        """Whether it can be carried out."""
        return not self.not_found


@dataclass(frozen=True)
class Judgement:
    """A judge's answer about a list of candidates."""

    pick: Candidate | None = None
    """None: it finds none good, or the answer is no judgement."""
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
    """

    def __init__(self, model: Model, *, emit: Emit) -> None:
        self._model = model
        self._emit = emit

    async def judge(
        self, asked: ModelRequest, candidates: Sequence[Candidate], *, must_pick: bool = False
    ) -> Judgement:
        """The judgement on candidates for what the planner was asked.

        Args:
            asked: the planner's request: the judge sees what it shows.
            candidates: at least one, no two with the same key.
            must_pick: it may refuse none, and is asked once (GTA1, section 3.1 and table 14).

        Raises:
            BudgetExceeded: from the model.
        """
        question = _question(asked, candidates, must_pick=must_pick)
        request = question
        judgement = Judgement()
        for _ in range(1 if must_pick else _TRIES):
            try:
                reply = await self._model.complete(request)
            except ModelUnavailable as error:
                judgement = Judgement(invalid=f"the judge cannot be asked: {error}")
                self._tell(candidates, judgement)
                break
            judgement = _read(reply, candidates, must_pick=must_pick)
            self._tell(candidates, judgement, reply.turn)
            if not judgement.invalid:
                break
            demand = f"{judgement.invalid}. {_allowed(len(candidates))}"
            request = with_correction(question, reply, demand, shown=_EXPLAINED)
        return judgement

    def _tell(self, candidates: Sequence[Candidate], judgement: Judgement, turn: str = "") -> None:
        pick = judgement.pick
        self._emit(
            Judged(
                turn=turn,
                candidates=tuple(candidate.n for candidate in candidates),
                index=None if pick is None else candidates.index(pick) + 1,
                explaining=judgement.explaining,
                invalid=judgement.invalid,
            )
        )


def _allowed(count: int) -> str:
    return (
        'Answer with one JSON object {"explaining": "…", "index": …}; the index is a number from 1 '
        f"to {count}, or null where no candidate is good."
    )


def _question(
    asked: ModelRequest, candidates: Sequence[Candidate], *, must_pick: bool
) -> ModelRequest:
    _, user = asked.messages
    system = render("judge", picture=asked.images > 0, must_pick=must_pick)
    listed = TextPart(sections({"candidates": _listed(candidates)}))
    user = replace(user, parts=(*user.parts, listed))
    return ModelRequest(
        role="judge",
        messages=(Message("system", (TextPart(system),)), user),
        schema=_schema(must_pick),
    )


def _read(reply: ModelReply, candidates: Sequence[Candidate], *, must_pick: bool) -> Judgement:
    if reply.finish == "length":
        return Judgement(invalid="the answer was cut off: be shorter")
    try:
        answer = _Answer.model_validate(find_object(printable(reply.text[:MAX_REPLY]), "index"))
    except ValidationError as error:
        wrong = (f"{item['loc'][0]!r}: {item['msg']}" for item in error.errors())
        return Judgement(invalid="; ".join(wrong))
    except InvalidReply as error:
        return Judgement(invalid=str(error))
    why = excerpt(answer.explaining, _EXPLAINED)
    if answer.index is None:
        refused = "the judge picked none, and has to pick one" if must_pick else ""
        return Judgement(explaining=why, invalid=refused)
    if not 1 <= answer.index <= len(candidates):
        return Judgement(
            explaining=why, invalid=f"'index' is {answer.index}, of {len(candidates)} candidates"
        )
    return Judgement(candidates[answer.index - 1], why)


def _listed(candidates: Sequence[Candidate]) -> str:
    """The candidates, one a line, in `CANDIDATE_TOKENS`; what all of them have is shortened first.

    Where little would be left of what differs, the thoughts give way: the action is judged.
    """
    for thoughts, least in ((True, _LITTLE), (False, _LITTLE), (False, 0)):
        lines = _within(candidates, thoughts=thoughts, least=least)
        if estimate_tokens(lines) <= CANDIDATE_TOKENS:
            break
    return lines


def _within(candidates: Sequence[Candidate], *, thoughts: bool, least: int) -> str:
    texts = [[*_texts(candidate, thoughts=thoughts)] for candidate in candidates]

    def lines(cut: Texts) -> str:
        shown = [dict(zip(*pair, strict=True)) for pair in zip(texts, cut, strict=True)]
        return "\n".join(map(_line, range(1, len(texts) + 1), candidates, shown))

    def fits(cut: Texts) -> bool:
        return estimate_tokens(lines(cut)) <= CANDIDATE_TOKENS

    return lines(shortened(texts, fits, least=least))


def _texts(candidate: Candidate, *, thoughts: bool) -> Iterator[str]:
    yield from (candidate.not_found, *([candidate.call.thought] if thoughts else ()))
    for call in candidate.grounded.call.sequence:
        yield from _words(call).values()


def _words(call: ToolCall) -> dict[str, str]:
    told = call.input if isinstance(call.input, str) else json.dumps(dict(call.input), default=str)
    return {
        "input": told,
        "description": call.description,
        "description_2": call.description_2,
    }


def _line(index: int, candidate: Candidate, shown: Mapping[str, str]) -> str:
    """A candidate as JSON, its texts as shown; of a sequence, each of its calls in ``actions``."""
    fields: dict[str, object] = {"index": index}
    if thought := shown.get(candidate.call.thought):
        fields["thought"] = thought
    # What a number stood for is told in the words of the call that was resolved.
    resolved = candidate.grounded.call.sequence
    places = [
        [place.point.rounded() for place in one.places] for one in candidate.grounded.sequence
    ]
    calls = [
        _call(call, places[at] if at < len(places) else [], shown)
        for at, call in enumerate(resolved)
    ]
    fields |= calls[0] if len(calls) == 1 else {"actions": calls}
    if candidate.not_found:
        fields["not_found"] = shown[candidate.not_found]
    return without_tags(json.dumps(fields, ensure_ascii=False))


def _call(
    call: ToolCall, places: Sequence[tuple[int, int]], shown: Mapping[str, str]
) -> dict[str, object]:
    words = {name: shown[text] for name, text in _words(call).items()}
    kept = {name: text for name, text in words.items() if text or name == "input"}
    return {"tool": call.tool, **kept, **({"at": places} if places else {})}
