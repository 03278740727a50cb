"""Trajectory rewards: a mark of 1 to 5 for a whole run (OS-Genesis, section 3.3 and appendix F).

A judge, a model or rules, sees the instruction, thought and action of every step and the last three
looks. It never sees the executed score, so that the two can be compared.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.actions import Hotkey, Write
from hisa.errors import InvalidReply
from hisa.models.correction import with_correction
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory, TrajectoryStep
from hisa.protocols import ImagePart, Message, Model, ModelRequest, TextPart
from hisa.text.prompt_text import guard_tags, one_line, sections, untrusted
from hisa.text.prompts import render

__all__ = ["RULES", "Grade", "grade_by_model", "grade_by_rules", "looks", "step_lines"]

RULES: Final = "rules"
_REPLY = 20_000
"""Characters of the longest reply that is read."""
_LAST = 3
"""Looks that a judge sees (appendix F)."""
_SHOWN, _STEPS = 60, 60
"""Texts of a look and steps that a judge gets; of more steps, the first half and the last half."""
_DONE, _GAVE_UP = "termination", "infeasible"
_STOP = frozenset(
    "a an and are at be by can click choose enter field find for from go in into is it its main "
    "make of on open option or page press put select set so submit task text that the them then "
    "there this to turn type use what which window with you button".split()
)
"""Words of instructions that name nothing on a screen."""
_QUOTED = re.compile(r'"([^"]{1,200})"|“([^”]{1,200})”|(?<!\w)\'([^\']{1,200})\'(?!\w)')
_WORD = re.compile(r"\w+(?:[.:/@-]\w+)*")
_Mark = Annotated[int, Field(ge=1, le=5)]


class Grade(BaseModel):
    """A judge's mark for a run: ``reward`` is R of algorithm 1, 1 (nothing) to 5 (done, directly).

    ``completion`` and ``coherence`` are its two aspects, on the same scale.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    run: str
    judge: str
    """"rules", or the name of a model."""
    reason: str = Field(max_length=2_000)
    completion: _Mark
    coherence: _Mark
    reward: _Mark


class _Reply(BaseModel):
    reason: str = Field(min_length=1, max_length=6_000)
    completion: _Mark
    coherence: _Mark
    reward: _Mark


def looks(trajectory: Trajectory) -> list[Look]:
    """Every look of a trajectory in order: before each step, and the one after the last."""
    steps = trajectory.steps
    after = steps[-1].after
    return [step.before for step in steps] + ([after] if after is not None else [])


def step_lines(trajectory: Trajectory) -> list[str]:
    """Thought and action of every step, as a judge reads them."""
    lines = []
    for step in trajectory.steps:
        source = step.input if isinstance(step.input, str) else json.dumps(step.input)
        where = f" ({'; '.join(step.descriptions)})" if step.descriptions else ""
        failed = "" if step.ok else " FAILED"
        text = f"{step.thought[:400]} | {step.tool}: {source[:400]}{where[:200]}{failed}"
        lines.append(one_line(f"{step.number}. {text}"))
    left_out = len(lines) - _STEPS
    if left_out > 0:
        half = _STEPS // 2
        lines[half:-half] = [f"({left_out} steps are left out here)"]
    return lines


@dataclass(frozen=True)
class _Signs:
    """Signs in a trajectory that tell without a score how it went."""

    ending: str
    terms: int
    met: int
    steps: int
    """Steps that are not the agent's word that it ends."""
    idle: int
    """Steps after which the screen was as before."""
    repeated: int
    failed: int
    unsaved: bool
    last_changed: bool

    @property
    def coverage(self) -> float:
        """Share of the instruction's terms that were met; 1 where it names none."""
        return self.met / self.terms if self.terms else 1.0


def grade_by_rules(trajectory: Trajectory) -> Grade:
    """The rules' grade of a trajectory.

    A term of the instruction (quoted, else a word that names something) is met where it was typed,
    is on a control that was used, or came on the screen. Weights were chosen by hand.

    Raises:
        ValueError, OSError: the elements of a look are damaged or gone.
    """
    signs = _signs(trajectory)
    steps = max(signs.steps, 1)
    well_ended = signs.ending in (_DONE, "page") and signs.last_changed
    completion = round(1 + 2.6 * signs.coverage + 1.4 * well_ended)
    if signs.ending == _GAVE_UP:
        completion = min(completion, 2)
    if signs.unsaved or signs.ending == "cut off":
        completion = min(completion, 3)
    wasted = (signs.idle + 2 * signs.repeated + 2 * signs.failed) / steps
    coherence = max(1, round(5 - 2.5 * wasted))
    reward = round((2 * completion + coherence) / 3)
    if signs.idle == signs.steps or signs.met == 0 < signs.terms:
        completion, reward = 1, 1 if signs.idle == signs.steps else min(reward, 2)
    return Grade(
        run=trajectory.id, judge=RULES, reason=_reason(signs), completion=completion,
        coherence=coherence, reward=reward,
    )  # fmt: skip


def _reason(signs: _Signs) -> str:
    ends = {_DONE: "the agent said done", "page": "the page ended the run"}
    ends |= {_GAVE_UP: "the agent gave up", "cut off": "it was cut off"}
    counts = f"{signs.idle} of {signs.steps} acts changed nothing, {signs.repeated} repeated"
    unsaved = ", asked to save and did not" * signs.unsaved
    return (
        f"{ends[signs.ending]}; {signs.met} of {signs.terms} terms of the instruction met; "
        f"{counts}, {signs.failed} failed{unsaved}"
    )


def _signs(trajectory: Trajectory) -> _Signs:
    steps = [step for step in trajectory.steps if not step.ends]
    last = trajectory.steps[-1]
    ending = last.tool if last.ends and last.tool in (_DONE, _GAVE_UP) else "page"
    idle = [step for step in steps if step.after is not None and not _changed(step)]
    done = [(step.tool, json.dumps(step.input, sort_keys=True)) for step in steps]
    used = " ".join(_used(step, trajectory.instruction) for step in steps)
    terms = _terms(trajectory.instruction)
    dealt_with = f"{used} {_came(trajectory)}".casefold()
    saves = "save" in used.casefold() or any(
        isinstance(action, Hotkey) and action.keys[-1] == "s"
        for step in steps
        for action in step.actions
    )
    return _Signs(
        ending="cut off" if trajectory.truncated else ending,
        terms=len(terms), met=sum(_in(term, dealt_with) for term in terms),
        steps=len(steps), idle=len(idle),
        repeated=sum(a == b and step in idle for a, b, step in zip(done, done[1:], steps)),
        failed=sum(not step.ok for step in steps),
        unsaved="save" in trajectory.instruction.casefold().split() and not saves,
        last_changed=bool(steps) and _changed(steps[-1]),
    )  # fmt: skip


def _changed(step: TrajectoryStep) -> bool:
    """Whether the look after a step is another: files are named by the hash of what they hold."""
    return step.after is not None and step.after.image != step.before.image


def _used(step: TrajectoryStep, instruction: str) -> str:
    """What a step that went well typed, as far as it shows, and the controls that it used."""
    if not step.ok or step.after is None:
        return ""
    shown = " ".join(_texts(step.after))
    texts = [action.text for action in step.actions if isinstance(action, Write)]
    used = [text for text in texts if one_line(text) in shown or not step.after.elements]
    for element in step.targets:
        if element is not None:
            used += [element.name, element.text]
    return " ".join(text for text in used if one_line(text) not in ("", one_line(instruction)))


def _came(trajectory: Trajectory) -> str:
    """The texts that are on the last look and were not on the first, but for the instruction."""
    seen = looks(trajectory)
    before = set(_texts(seen[0]))
    return " ".join(text for text in _texts(seen[-1]) if text not in before)


def _texts(look: Look) -> list[str]:
    """The names and texts shown on a look, the window's title first, each once."""
    texts = [look.window]
    for element in look.elements:
        if not element.states or {"showing", "visible"} & element.states:
            texts += [element.name, element.text]
    return list(dict.fromkeys(one_line(text)[:200] for text in texts if text.strip()))


def _terms(instruction: str) -> list[str]:
    """Quoted texts where there are any, else the words that name something; in small letters."""
    quoted = ["".join(match) for match in _QUOTED.findall(instruction)]
    words = [word for word in _WORD.findall(instruction) if word.casefold() not in _STOP]
    return list(dict.fromkeys(term.casefold().strip() for term in quoted or words))


def _in(term: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text) is not None


async def grade_by_model(model: Model, trajectory: Trajectory, *, sees: bool) -> Grade:
    """A model's grade of a trajectory; asked again once.

    Args:
        model: of the judge role.
        trajectory: what it grades.
        sees: whether it takes pictures; else it gets windows and texts of the last three looks.

    Raises:
        InvalidReply: no usable reply, also when asked again.
        BudgetExceeded, ModelUnavailable: from the model.
        ValueError, OSError: a look is damaged or gone.
    """
    last = looks(trajectory)[-_LAST:]
    texts = {"task": trajectory.instruction, "execution_history": "\n".join(step_lines(trajectory))}
    if not sees:
        screens = ("\n".join(_texts(look)[:_SHOWN]) for look in last)
        texts[untrusted("screens")] = "\n\n".join(f"Screen:\n{screen}" for screen in screens)
    content = TextPart(sections({tag: guard_tags(text) for tag, text in texts.items()}))
    shown = [ImagePart(look.screenshot) for look in last] if sees else []
    system = render("trajectory_reward", pictures=sees)
    messages = (Message("system", (TextPart(system),)), Message("user", (content, *shown)))
    request = ModelRequest("judge", messages, schema=_schema(), max_tokens=1_000)
    reply = await _ask(model, request)
    return Grade(run=trajectory.id, judge=model.name, **reply.model_dump() | {
        "reason": one_line(reply.reason)[:2_000]
    })  # fmt: skip


def _schema() -> dict[str, Any]:
    """The schema of a reply: the reason comes before the marks."""
    mark = {"type": "integer", "minimum": 1, "maximum": 5}
    names = ("completion", "coherence", "reward")
    properties = {"reason": {"type": "string", "maxLength": 1_200}} | dict.fromkeys(names, mark)
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }  # fmt: skip


async def _ask(model: Model, request: ModelRequest) -> _Reply:
    reply = await model.complete(request)
    try:
        return _read(reply.text)
    except InvalidReply as error:
        correction = f"That cannot be used: {error}\nAnswer again, with one JSON object."
        reply = await model.complete(with_correction(request, reply, correction))
    return _read(reply.text)


def _read(text: str) -> _Reply:
    if len(text) > _REPLY:
        raise InvalidReply(f"{len(text)} characters; at most {_REPLY}")
    try:
        return _Reply.model_validate_json(text[text.find("{") : text.rfind("}") + 1])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the answer"
        raise InvalidReply(f"{where}: {first['msg']}") from error
