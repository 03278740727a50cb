"""Goals by a model: one request for each act, with both pictures (OS-Genesis, 3.2 and C).

The model sees the act, the looks before and after it and the way there, but never files, settings
or checks. For the paper's two references, task-driven and self-instruct (E), it sees first screens.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from PIL import ImageDraw
from pydantic import BaseModel, Field, ValidationError

from hisa.config import Settings
from hisa.errors import InvalidReply
from hisa.machine.storage import AppendOnlyFile
from hisa.models.budget import Budget
from hisa.models.correction import with_correction
from hisa.models.open_models import open_models, require_models
from hisa.models.spending import Ledger
from hisa.plugins.synthesis.exploration import Exploration, append_record
from hisa.plugins.synthesis.exploration_acts import read_name
from hisa.plugins.synthesis.records import Instruction, State, Triple
from hisa.plugins.synthesis.rule_instructions import element_of, same_place
from hisa.protocols import ImagePart, Message, Model, ModelRequest, Role, TextPart
from hisa.screen.observation import Element, Screenshot
from hisa.text.prompt_text import guard_tags, mark_untrusted, one_line, sections
from hisa.text.prompts import render

__all__ = [
    "REFERENCES",
    "Writer",
    "ask_writer",
    "first_screens",
    "model_goal",
    "open_writer",
    "reference_batch",
]

_REPLY = 20_000  # most characters of a reply
_LENGTHS = {"sub_instruction": 300, "analysis": 1500, "high_level_instruction": 600}
"""Characters that the schema allows: a small model that repeats itself would go on for minutes."""
_SHOWN = 60  # most elements and changes shown to a model that takes no pictures
_BATCH, _SCREENS, _EARLIER = 5, 4, 40
"""Tasks per reply, and first screens and earlier tasks that are shown. Chosen by hand."""
_WARM = 0.7
"""Temperature: at 0, the same examples would get the same reply. Chosen by hand."""
_DRAWN = 3  # examples drawn for each iteration of self-instruct (E.2)
REFERENCES: Final = ("task_driven", "self_instruct")
_Line = Annotated[str, Field(min_length=8, max_length=600)]
Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True)
class Writer:
    """A model that writes; ``sees`` says whether it takes pictures."""

    model: Model
    sees: bool
    role: Role = "planner"


@asynccontextmanager
async def open_writer(
    settings: Settings, folder: Path, ledger: Ledger, role: Role = "planner"
) -> AsyncIterator[Writer]:
    """Opens the model of a role as a writer, within the run's budget.

    Args:
        settings: of the models and the budget.
        folder: its ``calls.jsonl`` gets the model's calls.
        ledger: counts what the calls cost.
        role: whose model writes.

    Raises: ConfigError, ModelUnavailable, PluginFailed if it cannot be opened.
    """
    require_models(settings.models, settings.planner)
    run = settings.run
    budget = Budget(run.budget_usd, run.budget_tokens, seconds=run.budget_seconds)
    with closing(AppendOnlyFile(folder / "calls.jsonl")) as calls:
        async with open_models(
            settings.models,
            settings.planner,
            lambda call: append_record(calls, call),
            budget,
            ledger,
        ) as models:
            yield Writer(models[role], models.profiles[role].sees_pictures, role)


class _GoalReply(BaseModel):
    sub_instruction: _Line
    analysis: str = Field(max_length=6_000)
    high_level_instruction: _Line


class _Ideas(BaseModel):
    instructions: list[_Line] = Field(min_length=1, max_length=50)


async def model_goal(
    writer: Writer, exploration: Exploration, way: Sequence[Triple]
) -> Instruction:
    """Returns the last act of a way in words, with a broader goal it serves (OS-Genesis, 3.2).

    Args:
        writer: the model to ask.
        exploration: that has the way.
        way: triples from a fresh start, in order; the last one is described.

    Raises:
        InvalidReply: no usable reply, even when asked again.
        BudgetExceeded, ModelUnavailable: from the model.
        OSError, ValueError: a look is missing or damaged.
    """
    properties = {
        name: {"type": "string", "maxLength": length} for name, length in _LENGTHS.items()
    }
    system = render("triple_task", pictures=writer.sees)
    texts, pictures = _texts(writer, exploration, way), _pictures(exploration, way[-1])
    written, turn = await ask_writer(
        writer, system, texts, pictures, properties, _GoalReply, _require_order
    )
    steps = tuple(step.number for step in way)
    return Instruction(
        triples=steps[-1:],
        writer=writer.model.name,
        way="broad",
        sub=one_line(written.sub_instruction),
        analysis=written.analysis,
        high=one_line(written.high_level_instruction),
        steps=steps,
        turn=turn,
    )


def _require_order(written: _GoalReply) -> None:
    if re.match(r"(the |a )?user\b", written.high_level_instruction.casefold().strip()):
        raise InvalidReply("high_level_instruction tells of a user: write it as an order")


async def reference_batch(
    writer: Writer,
    exploration: Exploration,
    way: Literal["task_driven", "self_instruct"],
    written: Sequence[Instruction],
    *,
    seed: int,
) -> list[Instruction]:
    """Returns the new tasks of one reply, at most five.

    The model sees the first screens of the exploration, never triples.

    Args:
        writer: the model to ask.
        exploration: that has the screens.
        way: "task_driven" shows it the earlier tasks; "self_instruct" shows it examples drawn from
            the task-driven ones.
        written: the references so far.
        seed: of the draw, which is the same for the same ``written``.

    Raises:
        InvalidReply: no usable reply, even when asked again, or it has nothing new.
        BudgetExceeded, ModelUnavailable: from the model.
    """
    shown = [instruction.high for instruction in written if instruction.way == way][-_EARLIER:]
    if drawn := way == "self_instruct":
        pool = [instruction.high for instruction in written if instruction.way == "task_driven"]
        shown = random.Random(f"{seed} {len(shown)}").sample(pool, min(_DRAWN, len(pool)))
    known = {instruction.high.casefold() for instruction in written}

    def fits(ideas: _Ideas) -> None:
        if all(one_line(idea).casefold() in known for idea in ideas.instructions):
            raise InvalidReply("every one of them is there already")

    states = first_screens(exploration)
    texts = {"task": f"The application: {exploration.subject.title}."}
    if not writer.sees:
        lines = "\n".join(_element_lines(exploration.elements(state), None) for state in states)
        texts[mark_untrusted("elements")] = "\n".join(dict.fromkeys(lines.splitlines()))
    texts["examples" if drawn else "candidates"] = "\n".join(shown) or "None yet."
    pictures = (Screenshot.from_png(exploration.picture(state).read_bytes()) for state in states)
    array: dict[str, Any] = {"type": "array", "minItems": _BATCH, "maxItems": _BATCH}
    properties = {"instructions": array | {"items": {"type": "string", "maxLength": 300}}}
    system = render("first_screen_tasks", pictures=writer.sees, count=_BATCH)
    ideas, turn = await ask_writer(
        writer, system, texts, pictures, properties, _Ideas, fits, temperature=_WARM
    )
    new = dict.fromkeys(one_line(idea) for idea in ideas.instructions)
    return [
        Instruction(triples=(), writer=writer.model.name, way=way, sub="", high=high, turn=turn)
        for high in [idea for idea in new if idea.casefold() not in known][:_BATCH]
    ]


def first_screens(exploration: Exploration) -> list[State]:
    """Returns the state of the fresh start, and the first states that one act led to."""
    near = [triple.after for triple in exploration.triples if triple.before == exploration.root]
    ids = dict.fromkeys([exploration.root, *(state_id for state_id in near if state_id)])
    return [exploration.states[state_id] for state_id in ids][:_SCREENS]


async def ask_writer(
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
    """Returns a usable reply and the id of its turn; asks at most twice.

    Args:
        writer: the model to ask.
        system: the system message.
        texts: of the user message, by the tags of their sections.
        pictures: after the texts, if the writer takes pictures.
        properties: JSON schema of each property of the reply; all are required.
        kind: the model of the reply, which checks it.
        fits: further check; raises `InvalidReply`.
        temperature: of the request.

    Raises:
        InvalidReply: no usable reply, even when asked again.
        BudgetExceeded, ModelUnavailable: from the model.
    """
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    schema["required"] = list(properties)
    text = TextPart(sections({tag: guard_tags(text) for tag, text in texts.items()}))
    shown = map(ImagePart, pictures if writer.sees else ())
    messages = (Message("system", (TextPart(system),)), Message("user", (text, *shown)))
    request = ModelRequest(writer.role, messages, schema=schema, temperature=temperature)
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
        field_path = ".".join(map(str, first["loc"])) or "the answer"
        raise InvalidReply(f"{field_path}: {first['msg']}") from error
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
        texts[mark_untrusted("elements")] = _element_lines(elements, control)
        texts[mark_untrusted("changes")] = "\n".join(changes) or "Nothing that was seen."
    return texts


def _act_line(triple: Triple) -> str:
    act = triple.act.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(act | ({"saved": True} if triple.saved else {}), ensure_ascii=False)


def _element_lines(elements: Iterable[Element], near: Element | None) -> str:
    """Returns the visible named elements in words, at most 60: those nearest to ``near``."""
    shown = [
        element
        for element in elements
        if "showing" in element.states and (read_name(element) or element.text)
    ]
    if near is not None:
        at = near.box.centre
        shown.sort(
            key=lambda element: abs(element.box.centre.x - at.x) + abs(element.box.centre.y - at.y)
        )
    lines = []
    for element in sorted(shown[:_SHOWN], key=lambda element: (element.box.top, element.box.left)):
        states = " ".join(sorted(element.states & {"checked", "selected", "pressed", "focused"}))
        mark = " <- the control" if element == near else ""
        lines.append(
            one_line(
                f"{element.role} {read_name(element)[:80]!r} {element.text[:80]!r} {states}{mark}"
            )
        )
    return "\n".join(lines)


def _pictures(exploration: Exploration, triple: Triple) -> Iterator[Screenshot]:
    """Yields the pictures before and after an act, with a red box around its control if visible."""
    control = element_of(exploration, triple)
    for name in (triple.before, triple.after):
        state = exploration.states[name]
        picture = Screenshot.from_png(exploration.picture(state).read_bytes())
        match = control and same_place(control, exploration.elements(state))
        if match and triple.box:
            left, top, right, bottom = triple.box
            around = (left - 2, top - 2, right + 2, bottom + 2)
            pixels = picture.pixels.copy()
            ImageDraw.Draw(pixels).rectangle(around, outline="red", width=3)
            picture = Screenshot(pixels)
        yield picture
