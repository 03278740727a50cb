"""Which of several attempts is taken: by their facts, and by a judge who reads nothing else.

Agent S3 calls this behaviour best-of-N. What cannot be judged, because a machine or a model broke,
is no candidate. A judge is asked once about all candidates, in an order drawn by lot so that no
attempt is favoured for its place, and once more where the answer cannot be used. Where no judge
decides, the facts do if they leave one answer, else no attempt is taken.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable
from hisa.models.correction import with_correction
from hisa.models.tokens import estimate_tokens, longest
from hisa.patterns.excerpt import excerpt as steps_within
from hisa.planner.reply import find_object
from hisa.planner.side_by_side import Texts, shortened
from hisa.plugins.benchmarks.attempts.attempt_facts import AttemptFacts
from hisa.protocols import ImagePart, Message, Model, ModelRequest, Part, TextPart
from hisa.screen.observation import Screenshot
from hisa.state.token_limits import excerpt_within, whole_lines
from hisa.text.prompt_text import ends, guard_tags, one_line, sections
from hisa.text.prompts import render

__all__ = [
    "MOST",
    "REQUEST_TOKENS",
    "Choice",
    "Judge",
    "JudgeReply",
    "asked",
    "build_request",
    "candidates_of",
    "choose",
    "parse_judgement",
    "settle",
    "shown_order",
]

MOST = 8
"""Attempts at one task: more would leave each of them too few tokens in the judge's request."""
REQUEST_TOKENS = 12_000
"""Upper limit of all text of a request and of its correction, by the upper estimate: some ten steps
of each of 8 attempts, or all of two runs of 30 steps. Pictures come on top, one an attempt."""
_TASK_TOKENS = 2500
_CORRECTION_TOKENS = 500
_REPLY_TOKENS = 200
"""Of an unusable reply, as it is shown again and kept in the record."""
_FILES_TOKENS = 350
"""Of the lines on one attempt's files."""
_MESSAGE_TOKENS = 120
"""Of its last word; both limits hold only where not all that differs fits."""
_OWN_CHARS = 400
"""That are left of what differs before whole steps go: a click and two sentences on it."""
_EDGE_TOKENS = 20
"""Of the line breaks and tags around the lines of one attempt, which are counted apart."""
_EXPLAINING_CHARS = 600
_COMMON = 2
"""Steps that all attempts begin with from which on they are told once."""
_BROKEN = ("environment_error", "model_error")


class JudgeReply(BaseModel):
    """An answer of the judge, and why it could not be used; empty where it could."""

    text: str
    error: str = ""


class Choice(BaseModel):
    """Which attempt is taken, and by what."""

    run: str | None = None
    """The id of its run; None: none is taken."""
    by: Literal["judge", "facts", "alike", "alone", "nobody"]
    """judge: a model picked it; facts: without a judge, it alone said that it succeeded; alike: all
    candidates have the same facts; alone: it was the only candidate; nobody: none is taken."""
    why: str
    """In one or two sentences, the judge's where it picked."""
    order: tuple[str, ...] = ()
    """The ids of the runs in the order in which the judge was shown them."""
    replies: tuple[JudgeReply, ...] = ()
    """All answers of the judge, oldest first."""


@dataclass(frozen=True)
class Judge:
    """The model that picks, and what it is shown."""

    model: Model
    pictures: bool = False
    """Show the last look at the screen of each attempt."""
    max_tokens: int = 4096
    classes: Mapping[str, str] = field(default_factory=dict)
    """With any, by name with their meaning, it picks one of these, for one attempt."""


class _Judgement(BaseModel):
    model_config = ConfigDict(extra="ignore")
    explaining: str = Field(min_length=1)
    index: StrictInt = Field(ge=0)


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"explaining": {"type": "string"}, "index": {"type": "integer"}},
    "required": ["explaining", "index"],
    "additionalProperties": False,
}


def candidates_of(attempts: Sequence[AttemptFacts]) -> list[AttemptFacts]:
    """Returns those that can be taken: a broken machine or model is never a wrong answer."""
    return [facts for facts in attempts if facts.status not in _BROKEN]


def shown_order(candidates: Sequence[AttemptFacts], seed: int = 0) -> list[AttemptFacts]:
    """Returns them as drawn by lot; the same for the same seed and the same runs."""
    drawn = sorted(candidates, key=lambda facts: facts.run)
    random.Random(f"{seed} {' '.join(facts.run for facts in drawn)}").shuffle(drawn)
    return drawn


async def choose(
    attempts: Sequence[AttemptFacts], instruction: str, judge: Judge, *, seed: int = 0
) -> Choice:
    """Choose one of the attempts, or none, and say why.

    Args:
        attempts: all that ended, in the order in which they were made.
        instruction: the task's words.
        judge: asked where there are two candidates or more, and they differ.
        seed: of the order in which they are shown.
    """
    settled = settle(attempts)
    if settled is not None:
        return settled
    candidates = candidates_of(attempts)
    order = shown_order(candidates, seed)
    judged, replies, problem = await asked(order, instruction, judge)
    shown = tuple(facts.run for facts in order)
    if judged is not None and judged.index:
        told = excerpt_within(judged.explaining, _REPLY_TOKENS)
        run = order[judged.index - 1].run
        return Choice(run=run, by="judge", why=told, order=shown, replies=replies)
    return _without_judge(candidates, problem, order=shown, replies=replies)


def settle(attempts: Sequence[AttemptFacts]) -> Choice | None:
    """Returns the choice where no judge is needed; None where there is something to judge."""
    candidates = candidates_of(attempts)
    if not candidates:
        return Choice(by="nobody", why="in every attempt the machine or the model broke")
    first = candidates[0]
    if len(candidates) == 1:
        why = f"it is the only attempt whose machine and model worked ({first.status})"
        return Choice(run=first.run, by="alone", why=why)
    if len({facts.digest for facts in candidates}) > 1:
        return None
    why = (
        f"the facts of all {len(candidates)} attempts are the same, step by step, and so is their "
        f"end ({first.status}): any of them is as good"
    )
    return Choice(run=first.run, by="alike", why=why)


async def asked(
    order: Sequence[AttemptFacts], instruction: str, judge: Judge
) -> tuple[_Judgement | None, tuple[JudgeReply, ...], str]:
    """Returns a usable judgement, or None and why there is none, and all replies."""
    most = len(judge.classes or order)
    request = build_request(order, instruction, judge)
    replies: list[JudgeReply] = []
    for _ in range(2):
        try:
            reply = await judge.model.complete(request)
            text = reply.text
        except (ModelUnavailable, BudgetExceeded) as error:
            return None, tuple(replies), f"the judge could not be asked: {one_line(str(error))}"
        kept = excerpt_within(text, _REPLY_TOKENS)
        try:
            judged = parse_judgement(text, most)
        except InvalidReply as error:
            replies.append(JudgeReply(text=kept, error=str(error)))
            demand = (
                f"That answer could not be used: {error}. Answer again with one JSON object with "
                f'"explaining" and "index", a number from 0 to {most}, and nothing around it.'
            )
            if len(replies) == 1:
                request = with_correction(request, replace(reply, text=kept), demand)
            continue
        replies.append(JudgeReply(text=kept))
        said = excerpt_within(judged.explaining, _REPLY_TOKENS)
        return judged, tuple(replies), f"the judge cannot tell: {said}"
    return None, tuple(replies), f"the judge gave no usable answer: {replies[-1].error}"


def _without_judge(
    candidates: Sequence[AttemptFacts],
    problem: str,
    *,
    order: tuple[str, ...],
    replies: tuple[JudgeReply, ...],
) -> Choice:
    """Returns the only attempt that ended "succeeded", said as such, or none."""
    claimed = [facts for facts in candidates if facts.status == "succeeded"]
    if len(claimed) == 1:
        why = f"chosen without a judge, because it alone ended with 'succeeded'; {problem}"
        return Choice(run=claimed[0].run, by="facts", why=why, order=order, replies=replies)
    many = "none" if not claimed else str(len(claimed))
    why = f"{problem}; {many} of {len(candidates)} attempts ended with 'succeeded'"
    return Choice(by="nobody", why=why, order=order, replies=replies)


def parse_judgement(text: str, most: int) -> _Judgement:
    """Returns the JSON object of a reply that has an "index".

    Args:
        text: anything a model may say.
        most: the largest index.

    Raises:
        InvalidReply: there is none, several differ, or what it holds is not as asked for.
    """
    try:
        judged = _Judgement.model_validate(find_object(text, "index"))
    except ValidationError as error:
        item = error.errors()[0]
        raise InvalidReply(f"{str(item['loc'][0])!r}: {item['msg']}") from error
    if judged.index > most:
        raise InvalidReply(f"'index' is {judged.index!r:.20}, and there are 1 to {most}")
    return judged


def build_request(shown: Sequence[AttemptFacts], instruction: str, judge: Judge) -> ModelRequest:
    """Returns the question to the judge; its text, with a correction, is within `REQUEST_TOKENS`.

    Args:
        shown: the candidates as they are numbered, from 1.
        instruction: the task's words.
        judge: who is asked.
    """
    pictures = [_picture(facts) if judge.pictures else None for facts in shown]
    seen = any(picture is not None for picture in pictures)
    told = {"most": len(shown), "classes": judge.classes, "chars": _EXPLAINING_CHARS}
    system = render("failure_class" if judge.classes else "best_run", pictures=seen, **told)
    task = _within(guard_tags(instruction), _TASK_TOKENS)
    room = REQUEST_TOKENS - estimate_tokens(system) - estimate_tokens(task) - _CORRECTION_TOKENS
    parts: list[Part] = [TextPart(sections({"task": task, **_bodies(shown, room)}))]
    for number, picture in enumerate(pictures, 1):
        if picture is not None:
            parts += [TextPart(f"The last look of attempt {number}:"), ImagePart(picture)]
    return ModelRequest(
        role="judge",
        messages=(Message("system", (TextPart(system),)), Message("user", tuple(parts))),
        schema=_SCHEMA,
        max_tokens=judge.max_tokens,
    )


def _picture(facts: AttemptFacts) -> Screenshot | None:
    if facts.picture is None:
        return None
    try:
        return Screenshot.from_png(facts.picture.read_bytes())
    except (OSError, ValueError):  # as a crash or a person left it; the text stands alone
        return None


def _bodies(shown: Sequence[AttemptFacts], room: int) -> dict[str, str]:
    """Returns the sections on the attempts, within ``room`` tokens of the request."""
    common = _common(shown)
    room -= 2 * _EDGE_TOKENS  # around task and common steps
    cut = _side_by_side(shown, common, room)
    heads = [_head(number, facts, common) for number, facts in enumerate(cut, 1)]
    alike, steps = cut[0].lines()[:common], [facts.lines(common) for facts in cut]
    ends_ = [_end(facts) for facts in cut]
    if not _fits(cut, common, room):  # what differs is too much: whole steps and lines are left out
        ends_ = [_end(facts, _FILES_TOKENS) for facts in cut]
        around = zip(heads, ends_, strict=True)
        room -= sum(_size([*head, *end]) + _EDGE_TOKENS for head, end in around)
        alike = steps_within(alike, max(0, room // 4)) if common else []
        shares = _shares([_size(lines) for lines in steps], max(0, room - _size(alike)))
        steps = [steps_within(own, share) for own, share in zip(steps, shares, strict=True)]
    bodies = [[*head, *own, *end] for head, own, end in zip(heads, steps, ends_, strict=True)]
    attempts = "\n".join(line for body in bodies for line in body)
    return {"common_steps": "\n".join(alike), "attempts": attempts}


def _side_by_side(shown: Sequence[AttemptFacts], common: int, room: int) -> Sequence[AttemptFacts]:
    """Returns the attempts with what is the same in all of them shortened, then the rest."""

    def facts(texts: Texts) -> list[AttemptFacts]:
        found = []
        for facts, lines in zip(shown, texts, strict=True):
            steps = len(facts.steps)
            cut = replace(facts, steps=tuple(lines[:steps]), message=lines[-1])
            found.append(replace(cut, files=tuple(lines[steps:-1])))
        return found

    texts = [[*facts.steps, *facts.files, facts.message] for facts in shown]
    cut = shortened(texts, lambda cut: _fits(facts(cut), common, room), least=_OWN_CHARS)
    return facts(cut)


def _fits(shown: Sequence[AttemptFacts], common: int, room: int) -> bool:
    size = _size(shown[0].lines()[:common])
    for number, facts in enumerate(shown, 1):
        lines = [*_head(number, facts, common), *facts.lines(common), *_end(facts)]
        size += _size(lines) + _EDGE_TOKENS
    return size <= room


def _common(shown: Sequence[AttemptFacts]) -> int:
    """Returns the number of steps that all begin with; none where they are too few to tell apart.

    The last step of each attempt is its own.
    """
    most = min(len(facts.steps) for facts in shown) - 1
    same = 0
    while same < most and len({facts.steps[same] for facts in shown}) == 1:
        same += 1
    return same if same >= _COMMON else 0


def _head(number: int, facts: AttemptFacts, common: int) -> list[str]:
    alike = f", the first {common} of them as told above" if common else ""
    return [f"Attempt {number}", f"Steps: {len(facts.steps)}{alike}"]


def _end(facts: AttemptFacts, most: int | None = None) -> list[str]:
    """The lines after the steps; ``most``: tokens of the files, where not all fits."""
    files, message = list(facts.files), facts.message
    if most is not None:
        files = [shown] if (shown := whole_lines("\n".join(files), most)) else []
        message = excerpt_within(message, _MESSAGE_TOKENS)
    return [*files, f"Ended: {facts.status}{f': {message}' if message else ''}"]


def _size(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines)) + 1


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """Returns what each gets of the room: an equal part, and what shorter ones leave over."""
    shares, left = [0] * len(sizes), room
    for rank, place in enumerate(sorted(range(len(sizes)), key=lambda place: sizes[place])):
        shares[place] = min(sizes[place], left // (len(sizes) - rank))
        left -= shares[place]
    return shares


def _within(text: str, tokens: int) -> str:
    """Returns the text, or both ends of it with the number of characters that are left out."""
    if estimate_tokens(text) <= tokens:
        return text
    return ends(text, longest(len(text), lambda size: estimate_tokens(ends(text, size)) <= tokens))
