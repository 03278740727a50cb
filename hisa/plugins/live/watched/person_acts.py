"""Checks, does and logs what a person does at the machine that was taken over.

Nobody is asked about it, but what the policy denies stays denied. Typed text is gathered until
something else is done, and logged once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hisa import actions as gui
from hisa.actions.keys import normalise_key
from hisa.config.tool_settings import PolicySettings
from hisa.errors import ActionRefused, HisaError
from hisa.events import Observed, PersonActed
from hisa.hooks import Run
from hisa.plugins.guard.policy_hook import PolicyHook
from hisa.plugins.live.watched.gate import Refused
from hisa.plugins.live.watched.typed_secrets import TypedSecrets, is_echoed, kind_of_focus
from hisa.protocols import Emit, GroundedCall, ToolCall
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation
from hisa.text.redact.named_secrets import PLACEHOLDER

__all__ = ["Act", "PersonActs", "Strict"]

_SETTLE = 3.0
"""Longest wait, in seconds, for the screen to come to rest after a text that may be hidden."""
_MOMENT = 0.1
"""The same, in seconds, before an act: the person has already waited for the screen."""
_SHIFTS = frozenset(("shift", "shiftleft", "shiftright", "altright"))
_NEEDS = {"drag": {"path"}, "type": {"text"}, "press": {"keys"}}
"""Fields that an act needs if it is not at a single point."""
_KEYS = {"\n": gui.Press("enter"), "\t": gui.Press("tab")}
Pixel = Annotated[float, Field(ge=0, lt=100_000, allow_inf_nan=False)]
Wheel = Annotated[int, Field(ge=-100, le=100)]
Key = Annotated[str, Field(min_length=1, max_length=20)]


class Strict(BaseModel):
    """The base of all that comes through the socket: no other fields are allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Act(Strict):
    """One act; points are in screen pixels, and the wheel turns right and up as in PyAutoGUI."""

    kind: Literal["click", "move", "drag", "scroll", "type", "press"]
    x: Pixel = 0
    y: Pixel = 0
    button: Literal["left", "right", "middle"] = "left"
    count: Annotated[int, Field(ge=1, le=3)] = 1
    path: Annotated[tuple[tuple[Pixel, Pixel], ...], Field(min_length=2, max_length=50)] = ()
    dx: Wheel = 0
    dy: Wheel = 0
    text: Annotated[str, Field(min_length=1, max_length=2_000)] = ""
    keys: Annotated[tuple[Key, ...], Field(min_length=1, max_length=4)] = ()

    def actions(self, screen: Size) -> Sequence[gui.Action]:
        """Returns the actions of this act; raises `ActionRefused` if a field or point is wrong."""
        if lacking := _NEEDS.get(self.kind, {"x", "y"}) - self.model_fields_set:
            raise ActionRefused(f"{self.kind} needs {', '.join(sorted(lacking))}")
        places = [Point(x, y, "screen") for x, y in self.path or [(self.x, self.y)]]
        if any(place.x >= screen.width or place.y >= screen.height for place in places):
            raise ActionRefused(f"a point is off the screen of {screen.width}x{screen.height}")
        match self.kind:
            case "click":
                return [gui.Click(places[0], self.button, self.count)]
            case "move":
                return [gui.Move(places[0])]
            case "drag":
                moves = map(gui.Move, places[1:])
                return [gui.MouseDown(places[0]), *moves, gui.MouseUp(places[-1])]
            case "scroll":
                return [gui.Scroll(self.dy, self.dx, places[0])]
            case "type":  # line breaks and tabs are keys, which end the text of a field
                pieces = re.split(
                    rf"(\n|\t|{PLACEHOLDER.pattern})", self.text.replace("\r\n", "\n")
                )
                names = {*pieces[2::3]}
                return [_KEYS.get(p, gui.Write(p)) for p in pieces if p and p not in names]
            case "press":
                return [_read_keys(self.keys)]


class PersonActs:
    """Does what a person wants done on a machine; the caller must hold the machine's lock."""

    _text, _kind = "", "plain"

    def __init__(self, run: Run, secrets: TypedSecrets, emit: Emit) -> None:
        self._run, self._machine = run, run.environment
        self._secrets, self._emit = secrets, emit

    async def look(self, machine: Any = None, *, settle: float = _SETTLE) -> Observation:
        """Returns a look, with elements if the machine lists them and ``settle`` is not 0."""
        machine = machine or self._machine
        elements = settle > 0 and "elements" in machine.capabilities
        observation: Observation = await machine.observe(elements=elements, settle=settle)
        return observation

    async def do(self, acts: Sequence[Act], screen: Size) -> None:
        """Do acts in order; raises `Refused` if policy or machine refuse one.

        The policy checks all of them first. If the machine refuses one, those before it are done.
        """
        actions: list[gui.Action] = []
        try:
            for action in (action for act in acts for action in act.actions(screen)):
                last = actions[-1] if actions else None
                if _is_typing(action) and isinstance(last, gui.Write) and _is_typing(last):
                    actions[-1] = gui.Write(last.text + action.text)  # type: ignore[union-attr]
                else:
                    actions.append(action)
            await self._check(actions)
            await self._do(actions)
        except HisaError as error:
            self.flush()
            plain = [gui.Write("…") if isinstance(a, gui.Write) else a for a in actions]
            self._tell(plain, error=str(error))
            raise Refused(str(error)) from None

    def flush(self) -> None:
        """Log the typed text; what nobody may read is hidden first."""
        text, kind, self._text = self._text, self._kind, ""
        if text and kind == "unknown":
            self._secrets.hide(text)
            self._emit(PersonActed(did="acted", text=f"typed {len(text)} characters"))
        elif text:
            self._tell([gui.Write(self._secrets.hide(text) if kind == "password" else text)])

    async def _do(self, actions: Sequence[gui.Action]) -> None:
        executed: list[gui.Action] = []
        for action in actions:
            if _is_typing(action):
                self._tell(executed)
                executed = []
                await self._type(action)
            elif action == gui.Press("backspace") and self._text:
                await self._machine.act([action])
                self._text = self._text[:-1]
            else:
                self.flush()
                if not isinstance(action, gui.Move):
                    self._tell(executed)
                    executed = []
                    await self._keep(await self.look(settle=_MOMENT))
                await self._machine.act([action])
                executed.append(action)
        self._tell(executed)

    async def _keep(self, observation: Observation) -> None:
        """Log a look that a person acted on, so that the act can be learned from."""
        self._emit(
            Observed.of(observation, file_names=await self._run.log.keep(observation), seconds=0.0)
        )

    async def _type(self, action: gui.Action) -> None:
        """Type a text, and hide it unless the screen shows that everybody may read it."""
        text, machine = getattr(action, "text", ""), self._secrets.machine
        after = before = await self.look(machine, settle=0.1)
        kind = kind_of_focus(before)
        if kind != "plain":
            self._secrets.require_border()
        if not self._text:
            await self._keep(await self.look(settle=_MOMENT))
        if kind != ("unknown" if self._kind == "echoed" else self._kind):
            self.flush()
        open_so_far = not self._text or self._kind == "echoed"
        self._text, self._kind = self._text + text, kind
        try:
            await self._machine.act([action])
            after = before if kind == "plain" else await self.look(machine)
        finally:
            if kind == "unknown" and open_so_far and is_echoed(text, before, after):
                self._kind = "echoed"
            elif kind != "plain":
                self._secrets.cover(before, after)

    def _tell(self, actions: Sequence[gui.Action], *, error: str = "") -> None:
        if error or any(not isinstance(action, gui.Move) for action in actions):  # not for hovering
            self._emit(PersonActed(did="acted", text=gui.to_source(actions), error=error))

    async def _check(self, actions: Sequence[gui.Action]) -> None:
        """Raise `ActionRefused` if the policy denies the actions; its "ask" counts as allowed."""
        hooks = (hook for hook in self._run.hooks if isinstance(hook, PolicyHook))
        policy = next((hook.policy for hook in hooks), None)
        if policy is None or not _denies(policy.settings):
            return
        from hisa.plugins.guard.policy.named_facts import CallFacts
        from hisa.plugins.guard.policy.screen_part import apps_of, screen_parts

        observation = await self.look()
        all_actions = [gui.Write(self._text), *actions] if self._text else actions
        placed = gui.to_space(
            all_actions, "image", screen=observation.screen, image=observation.image
        )
        source = gui.to_source(placed)
        call = GroundedCall(ToolCall("", "gui_action", source), source, placed)
        apps = apps_of(call, observation)
        parts = screen_parts(
            call, observation, apps, home=policy.home, judges_effects=policy.judges_effects
        )
        ruling = policy.decide(CallFacts("gui_action", parts, apps))
        if ruling.verdict == "deny":
            raise ActionRefused(f"the policy forbids this: {ruling.rule}. {ruling.why}".strip())


def _denies(policy: PolicySettings) -> bool:
    """Whether a rule denies anything."""
    return "deny" in (policy.unknown, *(rule.then for rule in policy.rules))


def _is_typing(action: gui.Action) -> bool:
    """Whether an action types a person's own text, and not a secret by its name."""
    return isinstance(action, gui.Write) and not PLACEHOLDER.search(action.text)


def _read_keys(keys: Sequence[str]) -> gui.Action:
    """The action of some keys; a letter alone or with Shift is text, which is logged at once."""
    last = keys[-1]
    if len(keys) == 1 and len(last) == 1 and last.isprintable():
        return gui.Write(last)
    names = tuple(map(normalise_key, keys))
    if len(keys) == 1:
        return gui.Write(" ") if names == ("space",) else gui.Press(names[0])
    if not _SHIFTS.issuperset(names[:-1]) or len(last) > 1:
        return gui.Hotkey(names)
    if "altright" in names or not last.isalpha():
        raise ActionRefused("send the character itself, not the keys that make it")
    return gui.Write(last.upper())
