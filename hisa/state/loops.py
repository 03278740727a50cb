"""Loops: the same action on the same screen, or two actions that undo each other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hisa.protocols import ToolCall
from hisa.screen.geometry import BoundingBox
from hisa.text.prompt_text import excerpt

__all__ = ["ActionRecord", "Loop", "action_key", "find_loop"]

_TIMES = 3
"""How often the same action must run before it is a loop."""


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """A step for loop detection: ``key`` identifies the action, ``roi`` what it changed."""

    key: str
    roi: BoundingBox | None

    @property
    def still(self) -> bool:
        """Whether the screen stayed as it was, but for pointer and caret."""
        return self.roi is None


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that was found: the action, how often it ran, and the notice to the planner."""

    action: str
    times: int
    notice: str


def find_loop(records: Sequence[ActionRecord]) -> Loop | None:
    """The loop that the last record is part of, or None. Depends on nothing but ``records``."""
    return _repeated(records) or _alternating(records)


def _repeated(records: Sequence[ActionRecord]) -> Loop | None:
    """One action repeated; what its first try changed does not count.

    The first try may have done what the others cannot do again.
    """
    count = 0
    for record in reversed(records):
        if record.key != records[-1].key:
            break
        count += 1
        if not record.still:
            break
    if count < _TIMES:
        return None
    action = _readable(records[-1].key)
    notice = (
        f"You are in a loop: the last {count} steps were the same action ({action}) and the "
        "screen stayed the same. Running it again will not help. Do something different: "
        "another element, a keyboard shortcut, a command, or give up with the reason."
    )
    return Loop(action, count, notice)


def _alternating(records: Sequence[ActionRecord]) -> Loop | None:
    """A, B, A, B, each changing the same part of the screen as before."""
    if len(records) < 4:
        return None
    first, second, third, fourth = records[-4:]
    if first != third or second != fourth or first.key == second.key:
        return None
    one, other = _readable(first.key), _readable(second.key)
    notice = (
        f"You are in a loop: the last 4 steps were two actions by turns ({one}; {other}) that "
        "change the same part of the screen to and fro. Do something different."
    )
    return Loop(f"{one}; {other}", 2, notice)


def action_key(call: ToolCall, ran: str | Mapping[str, object], *, result: str) -> str:
    """Returns the key that identifies an action; equal for a live step and for its events.

    Args:
        call: the planner's call. Its descriptions count only where they were not resolved, since
            they may be worded differently for the same place.
        ran: the input that ran: with coordinates where places were found.
        result: the step's result; it counts for tools that do not act on the screen, because a
            command that prints something new is no loop.
    """
    unresolved = ran == call.input
    parts = [
        call.tool,
        ran if isinstance(ran, str) else dict(ran),
        [call.description, call.description_2] if unresolved else [],
        "" if call.tool in ("gui_action", "wait") else result,
    ]
    return json.dumps(parts, sort_keys=True, default=str)


def step_key(call: ToolCall, ran: Sequence[str | Mapping[str, object]], *, result: str) -> str:
    """Returns the key of a whole step: of its action or, for a sequence, of all that were made.

    Args:
        call: the planner's call, with those that follow it.
        ran: the inputs that ran, in order; where nothing did, that of the first call.
        result: as for `action_key`.
    """
    keys = [
        action_key(one, text, result=result) for one, text in zip(call.sequence, ran, strict=False)
    ]
    if not call.following:
        return keys[0]
    return json.dumps(["sequence", "; ".join(map(_readable, keys)), keys])


def _readable(key: str) -> str:
    tool, value = json.loads(key)[:2]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return excerpt(f"{tool} {text}", 120)
