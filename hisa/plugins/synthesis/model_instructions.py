"""Instructions by a model: one request for each triple, with both pictures (OS-Genesis, 3.2 and C).

The model sees the act, the looks before and after it and the way there; files, settings and checks
it never sees.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from PIL import Image, ImageDraw
from pydantic import BaseModel, Field, ValidationError

from hisa.errors import InvalidReply
from hisa.models.correction import with_correction
from hisa.plugins.synthesis.doing import called
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Triple
from hisa.plugins.synthesis.rule_instructions import element_of, on_the_web
from hisa.plugins.synthesis.task_records import Instruction
from hisa.protocols import ImagePart, Message, Model, ModelRequest, Part, TextPart
from hisa.screen.observation import Element, Screenshot
from hisa.text.prompt_text import guard_tags, one_line, sections, untrusted
from hisa.text.prompts import render

__all__ = ["Line", "Writer", "ask", "element_lines", "model_instruction", "object_schema"]

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


def object_schema(**properties: Any) -> dict[str, Any]:
    """The JSON schema of an object, all of whose properties are required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


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
    system = render("triple_task", pictures=writer.sees, saved=triple.saved, web=web)
    text = {"type": "string"}
    schema = object_schema(
        sub_instruction=text, analysis=text, high_level_instruction=text,
        sort={"type": "string", "enum": list(sorts)},
    )  # fmt: skip
    parts = _parts(writer, exploration, way)

    def fits(written: _Written) -> None:
        if written.sort not in sorts:
            raise InvalidReply(f"sort {written.sort[:40]!r}: allowed are {', '.join(sorts)}")
        high = " ".join(written.high_level_instruction.casefold().split())
        if re.match(r"(the |a )?user\b", high):
            raise InvalidReply("high_level_instruction tells of a user: write it as an order")
        if missing := [t for t in _typed(way) if " ".join(t.casefold().split()) not in high]:
            raise InvalidReply(f"high_level_instruction does not name {missing[0][:200]!r}")

    written, turn = await ask(writer.model, system, parts, schema, _Written, fits)
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


def _typed(way: Sequence[Triple]) -> Iterable[str]:
    return (one.act.text for one in way if one.act.kind == "type" and one.act.text.strip())


async def ask(
    model: Model,
    system: str,
    parts: Sequence[Part],
    schema: dict[str, Any],
    kind: type[Reply],
    fits: Callable[[Reply], None],
    *,
    temperature: float = 0.0,
) -> tuple[Reply, str]:
    """A usable reply and its turn; asked for twice at most.

    Raises:
        InvalidReply: neither can be used.
        BudgetExceeded, ModelUnavailable: from the model.
    """
    messages = (Message("system", (TextPart(system),)), Message("user", tuple(parts)))
    request = ModelRequest("planner", messages, schema=schema, temperature=temperature)
    reply = await model.complete(request)
    try:
        return _read(reply.text, kind, fits), reply.turn
    except InvalidReply as error:
        correction = f"That cannot be used: {error}\nAnswer again, with one JSON object."
        reply = await model.complete(with_correction(request, reply, correction))
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


def _parts(writer: Writer, exploration: Exploration, way: Sequence[Triple]) -> list[Part]:
    *before, triple = way
    texts = {
        "task": f"The application: {exploration.subject.title}.",
        "execution_history": "\n".join(map(_act_line, before)) or "None.",
        "action": _act_line(triple),
    }
    state, after = (exploration.states[one] for one in (triple.before, triple.after))
    if not writer.sees:
        element = element_of(exploration, triple)
        texts[untrusted("elements")] = element_lines(exploration.elements(state), element)
        texts[untrusted("changes")] = _change_lines(triple)
    parts: list[Part] = [TextPart(sections({tag: guard_tags(t) for tag, t in texts.items()}))]
    if writer.sees:
        boxes = (triple.box, _box_after(exploration, triple))
        for path, box in zip(map(exploration.picture, (state, after)), boxes, strict=True):
            parts.append(ImagePart(_marked(path, box)))
    return parts


def _act_line(triple: Triple) -> str:
    act = triple.act.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(act | ({"saved": True} if triple.saved else {}), ensure_ascii=False)


def _change_lines(triple: Triple) -> str:
    lines = []
    for one in triple.differences.elements[:_SHOWN]:
        values = f": {one.before[:80]!r} -> {one.after[:80]!r}" if one.before or one.after else ""
        lines.append(one_line(f"{one.what}: {one.role} {one.name[:80]!r}{values}"))
    return "\n".join(lines) or "Nothing that was seen."


def element_lines(elements: Sequence[Element], near: Element | None) -> str:
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


def _box_after(exploration: Exploration, triple: Triple) -> tuple[int, int, int, int] | None:
    """The element's box on the look after, where it is still there."""
    element = element_of(exploration, triple)
    after = exploration.elements(exploration.states[triple.after])
    there = element is not None and any(
        (one.role, called(one), one.box) == (element.role, called(element), element.box)
        for one in after
    )
    return triple.box if there else None


def _marked(path: Path, box: tuple[int, int, int, int] | None) -> Screenshot:
    """A picture with a red box around an element."""
    with Image.open(path) as file:
        picture = file.convert("RGB")
    if box is not None:
        left, top, right, bottom = box
        pen = ImageDraw.Draw(picture)
        pen.rectangle((left - 2, top - 2, right + 2, bottom + 2), outline=(255, 0, 0), width=3)
    return Screenshot(picture)
