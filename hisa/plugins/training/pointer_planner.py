"""A trained policy in a run: the planner kind ``pointer``, its looks, and ``--model pointer:FILE``.

Policies are trained on the elements of a document, so the accessibility tree is converted: text
becomes the name of an element that contains nothing else; containers are left out, and so is the
instruction if the page shows it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hisa.actions import Action, Click, Press, Write, to_source
from hisa.config import GrounderKind, ModelSettings, PlannerSettings
from hisa.errors import ConfigError, InvalidReply, LibraryLacking, ModelUnavailable, UsageError
from hisa.machine.parts import install_command, list_missing
from hisa.models.profile import Price, Profile
from hisa.planner.call_schema import Schema
from hisa.planner.planner import GlobalPlanner
from hisa.plugins.training.base import Act, Item, Look
from hisa.plugins.training.pointer_features import features, instruction_words
from hisa.protocols import (
    ModelReply,
    ModelRequest,
    StateView,
    Task,
    TextPart,
    ToolCall,
    TurnTokens,
)
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.text.prompt_text import printable
from hisa.wiring.planner_kind import PlannerKind, PlannerParts

if TYPE_CHECKING:
    from hisa.plugins.training.base import Choice

__all__ = ["LOOK", "POINTER", "PointerForm", "PointerModel", "act_reply", "look_of"]

LOOK = TypeAdapter(Look)
"""Writes a look as the JSON of a prompt, and reads it."""
_MAX_NAME = 80
"""Most characters of a name or value, as on pages."""
_CONTROLS = {"push button", "check box", "radio button", "combo box", "slider", "toggle button"}
"""Roles that are included although they contain others."""
_HOLDERS = {"frame", "panel", "document web", "document frame", "scroll pane", "page tab list"}
"""Roles that are left out although they may contain nothing."""


def look_of(observation: Observation, instruction: str) -> tuple[Look, BoundingBox]:
    """Returns the look of a policy, and the screen-space box that its boxes are shares of.

    This box is the container of the instruction if a page shows it, else the page, else the screen.
    """
    elements, size = observation.elements or (), observation.screen
    query = _query(elements, instruction)
    area = next(
        (element.box for element in elements if element.role == "document web"),
        BoundingBox(0, 0, size.width, size.height, "screen"),
    )
    parent = elements[query].parent if query >= 0 else None
    if parent is not None and parent >= 0:
        area = elements[parent].box
    items = (
        _item(element, role, name, area)
        for element, role, name in _select_elements(elements, query)
    )
    return Look(instruction, tuple(filter(_inside, items))), area


def _query(elements: Sequence[Element], instruction: str) -> int:
    """Returns the index of the element that shows the instruction; -1 if none does."""
    words = instruction_words(instruction)
    shown = (i for i, e in enumerate(elements) if words and instruction_words(e.text) == words)
    return next(shown, -1)


def _select_elements(elements: Sequence[Element], query: int) -> Iterator[tuple[Element, str, str]]:
    """Yields the elements of a look, each with its role and name as in the document."""
    children = Counter(element.parent for element in elements)
    texts = {e.parent: e.name for e in elements if e.role == "static" and children[e.parent] == 1}
    hidden = {query} - {-1}  # an element without a container has -1 as its parent
    beside = elements[query].parent if query >= 0 else None
    for place, element in enumerate(elements):
        role, parent = element.role, element.parent
        above = elements[parent].parent if parent is not None and parent >= 0 else None
        if place in hidden or parent in hidden:
            hidden.add(place)
        elif place in texts:
            yield element, "static" if role == "section" else role, texts[place]
        elif role == "static":  # text beside the instruction is not part of the task's area
            if element.name and parent not in texts and (beside is None or above != beside):
                yield element, role, element.name
        elif role in _CONTROLS or (not children[place] and role not in _HOLDERS):
            text = role == "entry" and "multi-line" in element.states
            yield element, "text" if text else role, element.name or element.label


def _item(element: Element, role: str, name: str, area: BoundingBox) -> Item:
    box, wide, high = element.box, area.width or 1, area.height or 1
    left, top = (box.left - area.left) / wide, (box.top - area.top) / high
    shares = (left, top, box.width / wide, box.height / high)
    editable = "editable" in element.states and role in ("entry", "password text", "text")
    return Item(
        role,
        " ".join(name.split())[:_MAX_NAME],
        shares,
        value=element.text[:_MAX_NAME] if editable or role == "combo box" else "",
        checked=not element.states.isdisjoint(("checked", "selected")),
        focused="focused" in element.states,
        takes_text=editable,
    )


def _inside(item: Item) -> bool:
    left, top, width, height = item.box
    return 0 <= left + width / 2 < 1 and 0 <= top + height / 2 < 1 and width > 0 < height


class _ActReply(BaseModel):
    """The JSON of a reply; see `Act`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    act: Literal["click", "type", "done"]
    item: int = -1
    word: int = -1


class PointerForm:
    """The form of requests and replies: a look as one JSON message, and an act."""

    system = (
        "Answer one look at a screen with one act as JSON. Items count from 0, words of the "
        'instruction too. {"act": "click", "item": 3}, {"act": "type", "item": 1, "word": 4} or '
        '{"act": "done"}.'
    )

    def ask(
        self, task: Task, observation: Observation, view: StateView
    ) -> tuple[str, Schema | None]:
        """Returns the look as JSON, and no schema.

        Args:
            task: its instruction is part of the look.
            observation: the newest one; it must list elements.
            view: of the run so far; not used.
        """
        self._observation = observation
        self._look, self._area = look_of(observation, task.instruction)
        return LOOK.dump_json(self._look).decode(), None

    def read(self, reply: str) -> ToolCall:
        """Returns the call for the act in a reply.

        Raises:
            InvalidReply: it has no act, or one that the newest look does not allow.
        """
        try:
            answer = _ActReply.model_validate_json(reply)
            act = Act(answer.act, answer.item, answer.word)
            features(self._look).require(act)
        except (ValidationError, UsageError) as error:
            raise InvalidReply(str(error)) from error
        if act.kind == "done":
            return ToolCall("the policy ends the run", "termination", "the policy chose to end")
        item = self._look.items[act.item]
        actions: tuple[Action, ...] = (Click(at=self._point(act)),)
        thought = f'{act.kind}: {item.role} "{printable(item.name)}"'
        if act.kind == "type":
            word = features(self._look).words[act.word]
            actions, thought = (*actions, Press("end"), Write(word)), f"{thought}, {word}"
        return ToolCall(thought, "gui_action", to_source(actions), actions=actions)

    def correction(self, error: str) -> str:
        """Returns the message about a reply that cannot be used."""
        return error

    def _point(self, act: Act) -> Point:
        """Returns the centre of an act's element, in whole pixels of the picture."""
        area, (left, top, width, height) = self._area, self._look.items[act.item].box
        x, y = left + width / 2, top + height / 2
        point = Point(area.left + x * area.width, area.top + y * area.height, "screen")
        return Point(*self._observation.convert(point, "image").to_pixels())


class PointerPlanner(PlannerKind):
    """The planner kind that shows looks as policies know them, and takes one act per reply."""

    points = True
    grounder: GrounderKind | None = "elements"

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings:
        """Returns the planner's settings with ``sees = "elements"``; see `PlannerKind`.

        Args:
            settings: of the planner.
            profile: of the model; not used.
            lists: whether a numbered list of the screen can be made and read.
            is_named: whether the settings name this kind, and not the profile; not used.

        Raises:
            ConfigError: the screen lists no elements, or ``planner.sequence`` is above 1.
        """
        if not lists or settings.sequence > 1:
            raise ConfigError(
                "planner.kind = 'pointer' needs listed elements and planner.sequence = 1",
                fix="--set planner.sequence=1 --env desktop",
            )
        return settings.model_copy(update={"sees": "elements"})

    def open(self, parts: PlannerParts) -> GlobalPlanner:
        """Returns a planner that asks by `PointerForm`."""
        return self.chat(parts, PointerForm())


POINTER = PointerPlanner()


class PointerModel:
    """A policy that answers the prompts of `hisa.plugins.training.pointer_planner`.

    At temperature 0, the default, it takes the likeliest act; at 1 it draws one, seeded by the
    role's seed. A reply has one token, the act; its log-probability is that at temperature 1.

    Raises:
        ConfigError: the temperature is neither 0 nor 1.
        LibraryLacking: torch or safetensors is not installed.
        UsageError: the file is not a checkpoint of a pointer.
    """

    by_rules = True
    profile = Profile(
        name="pointer",
        planner="pointer",
        price=Price(input=0, output=0),
        small=True,
        sees_pictures=False,
        streams=False,
        image_tokens=0,
    )

    def __init__(self, settings: ModelSettings) -> None:
        if lacking := list_missing("train"):
            reason = f"{settings.model} needs {lacking[0]}"
            raise LibraryLacking(reason, fix=install_command("train"))
        if settings.temperature not in (None, 0, 1):
            raise ConfigError(
                f"{settings.model} at temperature {settings.temperature}: allowed are 0 and 1",
                fix="--set models.planner.temperature=1",
            )
        from hisa.plugins.training.pointer_policy import PointerPolicy

        self.name, self._temperature = settings.model, settings.temperature
        path = Path(settings.model.removeprefix("pointer:")).expanduser()
        self._policy = PointerPolicy.load(path, seed=settings.seed or 0)

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Returns the act for the look in the request.

        Raises:
            ModelUnavailable: the request has no look.
        """
        parts = [part for m in request.messages if m.role == "user" for part in m.parts]
        text = parts[0].text if parts and isinstance(parts[0], TextPart) else ""
        try:
            look = LOOK.validate_json(text)
        except ValueError as error:
            raise ModelUnavailable(
                f"{self.name} answers only looks, so it cannot be the {request.role} model here",
                fix="--set models.state.model=offline",
            ) from error
        temperature = request.temperature if self._temperature is None else self._temperature
        (choice,) = self._policy.choose([look], greedy=not temperature)
        return act_reply(choice, self._policy.name, self._policy.version)


def act_reply(choice: Choice, name: str, version: int) -> ModelReply:
    """Returns a policy's act as a model's reply, in the form that `PointerForm` reads.

    Args:
        choice: the act with its log-probability.
        name: of the model.
        version: of the policy's weights.
    """
    act = choice.act
    return ModelReply(
        json.dumps({"act": act.kind, "item": act.item, "word": act.word}),
        model=name,
        policy=str(version),
        tokens=TurnTokens(logprobs=(choice.logprob,)),
    )
