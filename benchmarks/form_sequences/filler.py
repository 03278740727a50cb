"""A scripted planner that fills the form in, from what the form holds when it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from benchmarks.form_sequences.page import FIELDS, WANTED
from hisa.protocols import ModelRequest
from hisa.testing.scripted import FunctionModel, tool_call

__all__ = ["Filler", "state_model"]

State = Mapping[str, Any]
_CLICK = "pyautogui.click(X_COORD, Y_COORD)"


class Filler:
    """Decides what is still to be done, as a model with eyes would; counts its calls.

    Args:
        state: what the form holds now.
        most: actions that a reply may hold.
        latency: seconds that each reply takes.
        app: the form is a program's, whose list of choices takes arrow keys.
    """

    def __init__(
        self,
        state: Callable[[], Awaitable[State]],
        *,
        most: int,
        latency: float = 0.0,
        app: bool = False,
    ) -> None:
        self._app = app
        self._state = state
        self._most = most
        self._latency = latency
        self.calls = 0

    def model(self) -> FunctionModel:
        """The planner's model."""
        return FunctionModel(self._reply, "filler (scripted)")

    async def _reply(self, _: ModelRequest) -> str:
        self.calls += 1
        state = await self._state()
        await asyncio.sleep(self._latency)
        return _answer(state, self._most, app=self._app)


def state_model(latency: float = 0.0) -> FunctionModel:
    """A state model that has nothing to say, and takes as long as a real one."""

    async def reply(_: ModelRequest) -> str:
        await asyncio.sleep(latency)
        return "Succeeded. The form changed."

    return FunctionModel(reply, "state (scripted)")


def _answer(state: State, most: int, *, app: bool) -> str:
    if state["saved"]:
        return tool_call("termination", "The form is saved.")
    if state["asks"]:
        return tool_call("gui_action", _CLICK, 'button "Stay"')
    values = state["values"]
    todo = [name for name, wanted in WANTED.items() if values[name] != wanted]
    calls = [_fill(name, values[name], app=app) for name in todo]
    calls.append({"tool": "gui_action", "input": _CLICK, "description": 'button "Save"'})
    first = calls[:most]
    if most == 1:
        return json.dumps({"thought": "Go on with the form.", **first[0]})
    return json.dumps({"thought": "Go on with the form.", "actions": first})


def _fill(name: str, held: str, *, app: bool) -> dict[str, str]:
    wanted = WANTED[name]
    source = _CLICK
    kind = "text field"
    if name == "title":
        kind = "drop-down"
        chosen = "pyautogui.press('down', presses=2)" if app else f"pyautogui.write({wanted!r})"
        source += f"; {chosen}; pyautogui.press('enter')"
    elif name == "news":
        kind = "check box"
    else:
        source += "; pyautogui.hotkey('ctrl', 'a')" * bool(held) + f"; pyautogui.write({wanted!r})"
    return {"tool": "gui_action", "input": source, "description": f'{kind} "{FIELDS[name]}"'}
