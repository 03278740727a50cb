"""Instructions by a model: one request for each triple, with both pictures (OS-Genesis, 3.2 and C).

The model sees the act, the looks before and after it and the way there; files, settings and checks
it never sees.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from PIL import ImageDraw
from pydantic import BaseModel, Field, ValidationError

from hisa.errors import InvalidReply
from hisa.models.correction import with_correction
from hisa.plugins.synthesis.doing import called
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Triple
from hisa.plugins.synthesis.rule_instructions import element_of, on_the_web, same_place
from hisa.plugins.synthesis.task_records import Instruction
from hisa.protocols import ImagePart, Message, Model, ModelRequest, TextPart
from hisa.screen.observation import Element, Screenshot
from hisa.text.prompt_text import guard_tags, one_line, sections, untrusted
from hisa.text.prompts import render

__all__ = ["Line", "Writer", "ask", "element_lines", "model_instruction"]

_REPLY = 20_000
"""Characters of the longest reply that is read."""
_SHOWN = 60
"""Elements and changes that a model without eyes gets."""
Line = Annotated[str, Field(min_length=8, max_length=600)]
Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True)
class Writer:
    """A model that writes; ``sees`` tells whether it takes pictures."""

    model: Model
    sees: bool


class _Written(BaseModel):
    sub_instruction: Line
    analysis: str = Field(max_length=6_000)
    high_level_instruction: Line
    sort: str


async def model_instruction(
    writer: Writer, exploration: Exploration, way: Sequence[Triple]
) -> Instruction:
    """The instruction for the last triple of a way.

    Raises:
        InvalidReply: no usable reply, also when asked again.
        BudgetExceeded, ModelUnavailable: from the model.
        OSError, ValueError: a look is gone or damaged.
    """
    triple = way[-1]
    web = on_the_web(exploration, triple)
    sorts = ("information", "navigation", "content") if web else ("task", "question")
    typed = [step.act.text for step in way if step.act.text.strip()]

    def fits(written: _Written) -> None:
        if written.sort not in sorts:
            raise InvalidReply(f"sort {written.sort[:40]!r}: allowed are {', '.join(sorts)}")
        high = " ".join(written.high_level_instruction.casefold().split())
        if re.match(r"(the |a )?user\b", high):
            raise InvalidReply("high_level_instruction tells of a user: write it as an order")
        if missing := [text for text in typed if " ".join(text.casefold().split()) not in high]:
            raise InvalidReply(f"high_level_instruction does not name {missing[0][:200]!r}")

    properties: dict[str, Any] = {name: {"type": "string"} for name in _Written.model_fields}
    properties["sort"]["enum"] = list(sorts)
    system = render("triple_task", pictures=writer.sees, saved=triple.saved, web=web)
    texts, pictures = _texts(writer, exploration, way), _pictures(exploration, triple)
    written, turn = await ask(writer, system, texts, pictures, properties, _Written, fits)
    return Instruction.model_validate(
        {
            "triples": (triple.number,),
            "writer": writer.model.name,
            "sub": one_line(written.sub_instruction),
            "analysis": written.analysis,
            "high": one_line(written.high_level_instruction),
            "sort": written.sort,
            "turn": turn,
            "steps": tuple(step.number for step in way),
        }
    )


async def ask(
    writer: Writer,
    system: str,
    texts: Mapping[str, str],
    pictures: Iterable[Screenshot],
    properties: Mapping[str, Any],
    kind: type[Reply],
    fits: Callable[[Reply], None],
    *,
    temperature: float = 0.0,
) -> tuple[Reply, str]:
    """A usable reply and its turn; asked for twice at most.

    Args:
        writer: asked; the pictures it gets where it sees.
        system: the prompt.
        texts: by the tags of their sections.
        pictures: after the texts.
        properties: of the JSON object that is the reply, as in a schema; all are required.
        kind: of the reply.
        fits: raises `InvalidReply` where it cannot be used.
        temperature: of the answer.

    Raises:
        InvalidReply: neither can be used.
        BudgetExceeded, ModelUnavailable: from the model.
    """
    schema = {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }  # fmt: skip
    text = TextPart(sections({tag: guard_tags(text) for tag, text in texts.items()}))
    shown = map(ImagePart, pictures if writer.sees else ())
    messages = (Message("system", (TextPart(system),)), Message("user", (text, *shown)))
    request = ModelRequest("planner", messages, schema=schema, temperature=temperature)
    reply = await writer.model.complete(request)
    try:
        return _read(reply.text, kind, fits), reply.turn
    except InvalidReply as error:
        correction = f"That cannot be used: {error}\nAnswer again, with one JSON object."
        reply = await writer.model.complete(with_correction(request, reply, correction))
    return _read(reply.text, kind, fits), reply.turn


def _read(text: str, kind: type[Reply], fits: Callable[[Reply], None]) -> Reply:
    if len(text) > _REPLY:
        raise InvalidReply(f"{len(text)} characters; at most {_REPLY}")
    try:
        reply = kind.model_validate_json(text[text.find("{") : text.rfind("}") + 1])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the answer"
        raise InvalidReply(f"{where}: {first['msg']}") from error
    fits(reply)
    return reply


def _texts(writer: Writer, exploration: Exploration, way: Sequence[Triple]) -> dict[str, str]:
    *before, triple = way
    texts = {
        "task": f"The application: {exploration.subject.title}.",
        "execution_history": "\n".join(map(_act_line, before)) or "None.",
        "action": _act_line(triple),
    }
    if not writer.sees:
        elements = exploration.elements(exploration.states[triple.before])
        control = element_of(exploration, triple)
        changes = [
            one_line(f"{c.what}: {c.role} {c.name[:80]!r}: {c.before[:80]!r} -> {c.after[:80]!r}")
            for c in triple.differences.elements[:_SHOWN]
        ]
        texts[untrusted("elements")] = element_lines(elements, control)
        texts[untrusted("changes")] = "\n".join(changes) or "Nothing that was seen."
    return texts


def _act_line(triple: Triple) -> str:
    act = triple.act.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(act | ({"saved": True} if triple.saved else {}), ensure_ascii=False)


def element_lines(elements: Iterable[Element], near: Element | None) -> str:
    """The named elements that show, in words, at most 60: those nearest to one of them."""
    shown = [one for one in elements if "showing" in one.states and (called(one) or one.text)]
    if near is not None:
        at = near.box.centre
        shown.sort(key=lambda one: abs(one.box.centre.x - at.x) + abs(one.box.centre.y - at.y))
    lines = []
    for one in sorted(shown[:_SHOWN], key=lambda one: (one.box.top, one.box.left)):
        states = " ".join(sorted(one.states & {"checked", "selected", "pressed", "focused"}))
        text = f" = {one.text[:80]!r}" if one.text and one.text != called(one) else ""
        mark = " <- the control" if one == near else ""
        lines.append(one_line(f"{one.role} {called(one)[:80]!r}{text} {states}{mark}"))
    return "\n".join(lines)


def _pictures(exploration: Exploration, triple: Triple) -> Iterator[Screenshot]:
    """The pictures before and after an act, with a red box around its control where it is there."""
    control = element_of(exploration, triple)
    for name in (triple.before, triple.after):
        state = exploration.states[name]
        pixels = Screenshot.from_png(exploration.picture(state).read_bytes()).pixels
        if control and triple.box and same_place(control, exploration.elements(state)):
            left, top, right, bottom = triple.box
            around = (left - 2, top - 2, right + 2, bottom + 2)
            ImageDraw.Draw(pixels).rectangle(around, outline=(255, 0, 0), width=3)
        yield Screenshot(pixels)
