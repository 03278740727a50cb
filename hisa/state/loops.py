"""Loops: the same action again and again on a screen that stays as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hisa.actions import Action, parse, points, slots
from hisa.errors import ActionRefused
from hisa.events import Abstracted
from hisa.protocols import ToolCall
from hisa.text.prompt_text import excerpt

__all__ = ["Attempt", "Loop", "action_key", "acts_of", "find_loop", "step_key"]

_Deed = tuple[str, tuple[int, ...] | None]
"""The key of a step, and what it changed: None where the screen stayed as it was."""
_TIMES = 3
"""How often the same action must run before it is a loop."""


@dataclass(frozen=True)
class Attempt:
    """A step: the planner's ``call``, the ``keys`` of what ran, and what was ``seen`` of it.

    ``reason`` is why the last of what ran failed (empty: it did not), ``output`` what its tools
    printed, ``command`` whether it had an exit status, ``held`` whether it was not done at all.
    """

    call: ToolCall
    keys: tuple[str, ...]
    seen: Abstracted
    reason: str = ""
    output: str = ""
    command: bool = False
    held: bool = False

    @property
    def deed(self) -> _Deed:
        """Its action and effect, as loops are found by."""
        return step_key(self.keys, result=self.seen.result), self.seen.roi


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that was found: the action, how often it ran, and the notice to the planner."""

    action: str
    times: int
    notice: str


def find_loop(attempts: Sequence[Attempt]) -> Loop | None:
    """The loop that the last attempt is part of: one action that changed nothing again and again.

    What its first try changed does not count: it may have done what the others cannot do again.
    """
    deeds = [attempt.deed for attempt in attempts]
    count = 0
    for key, roi in reversed(deeds):
        if key != deeds[-1][0]:
            break
        count += 1
        if roi is not None:
            break
    if count < _TIMES:
        return None
    action = _readable(deeds[-1][0])
    notice = (
        f"You are in a loop: the last {count} steps were the same action ({action}) and the "
        "screen stayed the same. Do something different: another element, a keyboard shortcut, "
        "a command, or give up with the reason."
    )
    return Loop(action, count, notice)


def action_key(call: ToolCall, ran: str | Mapping[str, object]) -> str:
    """Returns the key that identifies an action; equal for a live step and for its events.

    Args:
        call: the planner's call. Its descriptions count only for places that were not found, since
            they may be worded differently for the same place.
        ran: the input that ran: with coordinates where places were found.
    """
    parts: list[Any] = [call.tool, ran if isinstance(ran, str) else dict(ran), []]
    acts = acts_of(json.dumps(parts, default=str)) if ran == call.input else ()
    if points(acts) or slots(acts):
        parts[2] = [call.description, call.description_2]
    return json.dumps(parts, sort_keys=True, default=str)


def acts_of(key: str) -> tuple[Action, ...]:
    """Returns the acts on the screen that a key stands for; none for other tools."""
    tool, ran, *_ = json.loads(key)
    with suppress(ActionRefused):
        return parse(ran) if tool == "gui_action" and isinstance(ran, str) else ()
    return ()


def step_key(keys: Sequence[str], *, result: str) -> str:
    """Returns the key of a whole step: of its action or, for a sequence, of all that were made.

    Args:
        keys: by `action_key`, in order.
        result: the step's result; it counts for tools that do not act on the screen, because a
            command that prints something new is no loop.
    """
    parts = [json.loads(key) for key in keys]
    if any(part[0] not in ("gui_action", "wait") for part in parts):
        parts[-1].append(result)
    if len(parts) == 1:
        return json.dumps(parts[0])
    return json.dumps(["sequence", "; ".join(map(_readable, keys)), parts])


def _readable(key: str) -> str:
    tool, value = json.loads(key)[:2]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return excerpt(f"{tool} {text}", 120)
