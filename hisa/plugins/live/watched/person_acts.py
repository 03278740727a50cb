"""What a person does at the machine that was taken over: checked, done, and logged.

It is never asked about; what the policy forbids outright stays forbidden. Typed text is gathered
until something else is done, and logged once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hisa.actions import (
    Action,
    Click,
    Drag,
    Hotkey,
    MouseDown,
    MouseUp,
    Move,
    Press,
    Scroll,
    Write,
    to_source,
    to_space,
)
from hisa.actions.keys import normalise_key
from hisa.errors import ActionRefused, HisaError
from hisa.events import PersonActed
from hisa.plugins.live.watched.gate import Refused
from hisa.plugins.live.watched.typed_secrets import TypedSecrets, is_echoed, kind_of_focus
from hisa.protocols import Emit, Environment, GroundedCall, ToolCall
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation
from hisa.text.redact.named_secrets import PLACEHOLDER
from hisa.tools.policy.deciding import Policy
from hisa.tools.policy.named_facts import CallFacts
from hisa.tools.policy.screen_part import apps_of, screen_parts

__all__ = ["Act", "PersonActs"]

_SETTLE = 3.0
"""Longest wait, in seconds, for the screen to come to rest around a hidden text."""
_SHIFTS = frozenset(("shift", "shiftleft", "shiftright", "altright"))
Pixel = Annotated[float, Field(ge=0, lt=100_000, allow_inf_nan=False)]
Wheel = Annotated[int, Field(ge=-100, le=100)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ClickAct(_Strict):
    """A click at a place of the screen, in its pixels, as with all that follow."""

    kind: Literal["click"]
    x: Pixel
    y: Pixel
    button: Literal["left", "right", "middle"] = "left"
    count: Annotated[int, Field(ge=1, le=3)] = 1


class MoveAct(_Strict):
    """The pointer, moved."""

    kind: Literal["move"]
    x: Pixel
    y: Pixel


class DragAct(_Strict):
    """The left button, held along a path."""

    kind: Literal["drag"]
    path: Annotated[tuple[tuple[Pixel, Pixel], ...], Field(min_length=2, max_length=50)]


class ScrollAct(_Strict):
    """The wheel: clicks to the right and up, as in PyAutoGUI."""

    kind: Literal["scroll"]
    x: Pixel
    y: Pixel
    dx: Wheel = 0
    dy: Wheel = 0


class TypeAct(_Strict):
    """Typed text; a line break is Enter."""

    kind: Literal["type"]
    text: Annotated[str, Field(min_length=1, max_length=2_000)]


class PressAct(_Strict):
    """Keys, held together."""

    kind: Literal["press"]
    keys: Annotated[tuple[Annotated[str, Field(max_length=20)], ...], Field(max_length=4)]


Act = Annotated[
    ClickAct | MoveAct | DragAct | ScrollAct | TypeAct | PressAct, Field(discriminator="kind")
]


@dataclass
class _Typed:
    """Text that is being typed; ``secret`` where nobody may read it."""

    text: str = ""
    kind: str = "plain"


class PersonActs:
    """Does what a person wants done, under the lock of the machine.

    Args:
        machine: the agent's environment beneath confirmation.
        secrets: hides what was typed.
        policy: gives the rules of the run.
        emit: gets a `PersonActed` for what was done or refused.
    """

    def __init__(
        self,
        machine: Environment,
        secrets: TypedSecrets,
        policy: Callable[[], Awaitable[Policy]],
        emit: Emit,
    ) -> None:
        self._machine, self._secrets, self._emit = machine, secrets, emit
        self._policy = policy
        self._typed = _Typed()

    async def look(self, *, elements: bool = True, settle: float = 0.0) -> Observation:
        """A look, with elements where the machine tells them."""
        can = "elements" in self._machine.capabilities
        return await self._machine.observe(elements=elements and can, settle=settle)

    async def do(self, acts: Sequence[Act], screen: Size) -> None:
        """Do all of them, in order.

        Raises:
            Refused: the policy forbids one, or the machine refuses it; those before it are done.
        """
        try:
            actions = [action for act in acts for action in _actions(act, screen)]
        except ActionRefused as error:
            raise Refused(str(error)) from None
        try:
            await self._check(actions)
            await self._do(actions)
        except HisaError as error:
            self.flush()
            safe = [a if not isinstance(a, Write) else Write("…") for a in actions]
            self._tell(to_source(safe), error=str(error))
            raise Refused(str(error)) from None

    def flush(self) -> None:
        """Log what was typed, without what must not be read; it is hidden before."""
        typed, self._typed = self._typed, _Typed()
        if not typed.text:
            return
        if typed.kind == "plain":
            self._tell(to_source([Write(typed.text)]))
            return
        name = self._secrets.name_of(typed.text)
        said = to_source([Write(name)]) if typed.kind == "password" else ""
        self._tell(said or f"typed {len(typed.text)} characters")

    # ---------------------------------------------------------------- doing

    async def _do(self, actions: Sequence[Action]) -> None:
        done: list[Action] = []
        for action in actions:
            if isinstance(action, Write):
                self._told(done)
                await self._type(action.text)
            elif isinstance(action, Press) and action.key == "backspace" and self._typed.text:
                await self._machine.act([action])
                self._typed.text = self._typed.text[:-1]
            else:
                self.flush()
                await self._machine.act([action])
                done.append(action)
        self._told(done)

    def _told(self, done: list[Action]) -> None:
        """Log acts; where the pointer went alone says nothing."""
        if any(not isinstance(action, Move) for action in done):
            self._tell(to_source(done))
        done.clear()

    async def _type(self, text: str) -> None:
        if PLACEHOLDER.search(text):  # a secret by its name: put in next to the machine
            self.flush()
            await self._machine.act([Write(text)])
            self._tell(to_source([Write(text)]))
            return
        before = await self.look()
        kind = kind_of_focus(before)
        if kind != self._typed.kind:
            self.flush()
        await self._machine.act([Write(text)])
        if kind != "plain":
            after = await self.look(settle=_SETTLE)
            if kind == "unknown" and is_echoed(text, before, after):
                kind = "plain"
            else:
                self._secrets.cover(before, after)
        self._typed = _Typed(self._typed.text + text, kind)

    def _tell(self, source: str, *, error: str = "") -> None:
        self._emit(PersonActed(did="acted", text=source, error=error))

    # ---------------------------------------------------------------- what is forbidden

    async def _check(self, actions: Sequence[Action]) -> None:
        """Refuse what the policy denies; what it would ask about is done.

        Raises:
            ActionRefused: it denies it.
        """
        policy = await self._policy()
        rules = policy.settings.rules
        if policy.settings.unknown != "deny" and all(rule.then != "deny" for rule in rules):
            return
        look = await self.look()
        whole = [Write(self._typed.text), *actions] if self._typed.text else [*actions]
        placed = to_space(whole, "image", screen=look.screen, image=look.image)
        source = to_source(placed)
        call = GroundedCall(ToolCall("", "gui_action", source), source, placed)
        apps = apps_of(call, look)
        parts = screen_parts(call, look, apps, home=policy.home, judged=policy.judges_effects)
        ruling = policy.decide(CallFacts("gui_action", parts, apps), datetime.now().time())
        if ruling.verdict == "deny":
            why = f" ({ruling.why})" if ruling.why else ""
            raise ActionRefused(f"the policy forbids this: {ruling.rule}{why}")


def _actions(act: Act, screen: Size) -> list[Action]:
    """The actions of one act.

    Raises:
        ActionRefused: a place off the screen, or an unknown key.
    """
    match act:
        case ClickAct():
            return [Click(_at(act.x, act.y, screen), act.button, act.count)]
        case MoveAct():
            return [Move(_at(act.x, act.y, screen))]
        case DragAct():
            start, *middle, end = (_at(x, y, screen) for x, y in act.path)
            if not middle:
                return [Drag(end, start)]
            return [MouseDown(start), *map(Move, [*middle, end]), MouseUp(end)]
        case ScrollAct():
            return [Scroll(act.dy, act.dx, _at(act.x, act.y, screen))]
        case TypeAct():
            return _typing(act.text)
        case PressAct():
            return _pressing(act.keys)


def _at(x: float, y: float, screen: Size) -> Point:
    if not (x < screen.width and y < screen.height):
        raise ActionRefused(f"({x:g}, {y:g}) is off the screen of {screen.width}x{screen.height}")
    return Point(x, y, "screen")


def _typing(text: str) -> list[Action]:
    """Text, with keys for line breaks and tabs: these end what is typed into a field."""
    actions: list[Action] = []
    for line in text.replace("\r\n", "\n").splitlines(keepends=True):
        for number, piece in enumerate(line.rstrip("\n").split("\t")):
            actions += [Press("tab")] if number else []
            actions += [Write(piece)] if piece else []
        actions += [Press("enter")] if line.endswith("\n") else []
    return actions


def _pressing(keys: Sequence[str]) -> list[Action]:
    """Keys; a letter by itself, or with Shift, is typed text."""
    if not keys:
        raise ActionRefused("no key is named")
    if len(keys) == 1 and len(keys[0]) == 1 and keys[0].isprintable():
        return [Write(keys[0])]
    names = tuple(map(normalise_key, keys))
    if names == ("space",):
        return [Write(" ")]
    held, last = frozenset(names[:-1]), keys[-1]
    if held and held <= _SHIFTS and len(last) == 1:
        if held & {"altright"} or not last.isalpha():
            raise ActionRefused("send the character itself, not the keys that make it")
        return [Write(last.upper())]
    return [Press(names[0])] if len(names) == 1 else [Hotkey(names)]
