"""Finds repetitions that cannot help: actions without effect, calls that failed on this screen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from hisa.actions import Action, Hotkey, KeyDown, KeyUp, Press, Sleep, parse, points, slots
from hisa.errors import ActionRefused
from hisa.events import Abstracted
from hisa.protocols import ToolCall
from hisa.text.prompt_text import excerpt

__all__ = ["Attempt", "Loop", "action_key", "find_loop", "find_tries", "refusal", "step_key"]

_ActionEffect = tuple[str, tuple[int, ...] | None]
"""The key of a step, and the box that it changed: None if the screen stayed as it was."""
_TIMES = 3
"""How often the same action must run before it is a loop."""
_QUIET = 2
"""How often an action without effect is done; after that it is refused."""
_KEYS = (Press, Hotkey, KeyDown, KeyUp, Sleep)
"""Keys may move something invisible, such as a focus, so pressing them again may help."""
_SLEEPS = re.compile(r"\bsleep\b")
_REASON = 200
"""Most characters of a reason that is repeated; chosen by hand."""


@dataclass(frozen=True)
class Attempt:
    """A step: the planner's ``call``, the ``keys`` of the actions that ran, and its ``event``.

    ``reason`` is why the last action failed (empty: it did not), ``output`` what its tools
    printed, ``command`` whether the last one had an exit status, ``held`` whether the call was
    refused as a repetition.
    """

    call: ToolCall
    keys: tuple[str, ...]
    event: Abstracted
    reason: str = ""
    output: str = ""
    command: bool = False
    held: bool = False

    @property
    def action_effect(self) -> _ActionEffect:
        """The action and its effect; equal pairs in a row are a loop."""
        return step_key(self.keys, result=self.event.result), self.event.roi


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: the action, how often it ran, and the notice to the planner."""

    action: str
    times: int
    notice: str


def find_loop(attempts: Sequence[Attempt]) -> Loop | None:
    """Returns the loop that the last attempt is part of: one action repeated without effect.

    The first of its attempts may have changed something, which the others could not do again.
    """
    effects = [attempt.action_effect for attempt in attempts]
    count = 0
    for key, roi in reversed(effects):
        if key != effects[-1][0]:
            break
        count += 1
        if roi is not None:
            break
    if count < _TIMES:
        return None
    action = _readable(effects[-1][0])
    notice = (
        f"You are in a loop: the last {count} steps were the same action ({action}) and the "
        "screen stayed the same. Do something different: another element, a keyboard shortcut, "
        "a command, or give up with the reason."
    )
    return Loop(action, count, notice)


def action_key(call: ToolCall, ran: str | Mapping[str, object]) -> str:
    """Returns the key that identifies an action; equal for a live step and for its events.

    Args:
        call: the planner's call. Its descriptions are part of the key only if the target was not
            found, since the same place may be described differently.
        ran: the input that ran: with coordinates if the target was found.
    """
    parts: list[Any] = [call.tool, ran if isinstance(ran, str) else dict(ran), []]
    acts = _acts_of(json.dumps(parts, default=str)) if ran == call.input else ()
    if points(acts) or slots(acts):
        parts[2] = [call.description, call.description_2]
    return json.dumps(parts, sort_keys=True, default=str)


def _acts_of(key: str) -> tuple[Action, ...]:
    """Returns the actions on the screen that a key stands for; none for other tools."""
    tool, ran, *_ = json.loads(key)
    with suppress(ActionRefused):
        return parse(ran) if tool == "gui_action" and isinstance(ran, str) else ()
    return ()


def step_key(keys: Sequence[str], *, result: str) -> str:
    """Returns the key of a whole step: of its action or, for a sequence, of all that ran.

    Args:
        keys: the key of each action, from `action_key`, in order.
        result: the step's result. It is part of the key for tools that do not act on the screen,
            because a command that prints something new is no loop.
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


def find_tries(attempts: Sequence[Attempt], keys: Sequence[str]) -> dict[int, Attempt]:
    """Returns the attempts that are a reason not to do this again, by their steps; empty if none.

    A command may print something else the second time, and an action that was held back because
    the screen changed may succeed: these two must have failed twice for the same reason.

    Args:
        attempts: the steps so far.
        keys: the keys of the actions to be done.
    """
    same = [*_list_attempts(attempts, tuple(keys))]
    failed = [(number, attempt) for number, attempt in same if attempt.reason]
    if failed:
        newest = failed[0][1]
        repeats = [*takewhile(lambda pair: pair[1].reason == newest.reason, failed)]
        if len(repeats) > (newest.command or newest.reason.startswith("nothing was done")):
            return dict(reversed(repeats))
    quiet = [(n, a) for n, a in same if not a.reason and len(a.keys) == len(keys)]
    keyed = all(isinstance(act, _KEYS) for key in keys for act in _acts_of(key))
    return {} if keyed or len(quiet) < _QUIET else dict(reversed(quiet))


def refusal(tries: Mapping[int, Attempt], tools: Sequence[str]) -> str:
    """Returns the text that refuses a repetition: how it ended before, and what to do instead."""
    steps = " and ".join(f"step {number}" for number in [*tries][-2:])
    reason = excerpt([*tries.values()][-1].reason, _REASON)
    failed = f"it failed in {steps} and the screen has not changed since. It said: “{reason}”"
    cause = failed if reason else f"in {steps} the same was done and nothing changed on the screen"
    return (
        f"not done again: {cause}. Do something else, or use another tool: {', '.join(tools)}. "
        "If it only takes time, call wait first"
    )


def _list_attempts(
    attempts: Sequence[Attempt], keys: tuple[str, ...]
) -> Iterator[tuple[int, Attempt]]:
    """Yields the attempts at these calls on the present screen, newest first.

    An attempt that got only as far as the first of the calls counts too.
    """
    acts = [act for key in keys for act in _acts_of(key)]
    placeless = bool(acts) and not points(acts) and not slots(acts)
    for number, attempt in reversed([*enumerate(attempts, 1)]):
        same = attempt.keys == keys[: len(attempt.keys)]
        # An action without a place goes to pointer or focus; another action may have moved these.
        moves = (placeless and not attempt.reason) or attempt.command
        if _may_help(attempt) or (moves and not same):
            return
        if same and not attempt.held:
            yield number, attempt
        if attempt.event.moved:
            return


def _may_help(attempt: Attempt) -> bool:
    """Whether an attempt is a reason to try again after it: it had an effect, or waited."""
    tools = {call.tool for call in attempt.call.sequence}
    unseen = tools != {"gui_action"} and not attempt.reason  # a tool's effect may not be visible
    acts = [act for key in attempt.keys for act in _acts_of(key)]
    slept = attempt.command and bool(_SLEEPS.search(attempt.keys[-1]))
    waited = slept or "wait" in tools or bool(acts and all(isinstance(a, Sleep) for a in acts))
    # Typing a text that is already there "succeeds" each time, and does nothing.
    idle = ("failed", "no_change", *(("succeeded",) if acts else ()))
    had_effect = attempt.event.verdict not in idle or attempt.event.refocused
    return waited or unseen or had_effect or attempt.event.roi is not None
