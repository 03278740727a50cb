"""Repetitions that cannot help: a call that failed on this very screen, an act without effect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from hisa.actions import Hotkey, KeyDown, KeyUp, Press, Sleep, points, slots
from hisa.state.loops import Attempt, acts_of
from hisa.text.prompt_text import excerpt

__all__ = ["find_tries", "refusal"]

_QUIET = 2
"""Acts without effect that are made; the next one is not."""
_KEYS = (Press, Hotkey, KeyDown, KeyUp, Sleep)
"""Keys may move something that does not show, such as a focus: pressed again they go on."""
_SLEEPS = re.compile(r"\bsleep\b")
_REASON = 200
"""Characters of a reason that are told again; chosen by hand."""


def find_tries(attempts: Sequence[Attempt], keys: Sequence[str]) -> dict[int, Attempt]:
    """The attempts that speak against doing what has these ``keys``, by their steps; else none.

    A command may print something else the second time, and what a change of the screen prevented
    may succeed: both have to fail twice for the same reason.
    """
    same = [*_tried(attempts, tuple(keys))]
    failed = [(number, attempt) for number, attempt in same if attempt.reason]
    if failed:
        newest = failed[0][1]
        alike = [*takewhile(lambda pair: pair[1].reason == newest.reason, failed)]
        if len(alike) > (newest.command or newest.reason.startswith("nothing was done")):
            return dict(reversed(alike))
    quiet = [(n, a) for n, a in same if not a.reason and len(a.keys) == len(keys)]
    keyed = all(isinstance(act, _KEYS) for key in keys for act in acts_of(key))
    return {} if keyed or len(quiet) < _QUIET else dict(reversed(quiet))


def refusal(tries: Mapping[int, Attempt], tools: Sequence[str]) -> str:
    """Says that a call was not made: what it came to before, and what there is instead."""
    steps = " and ".join(f"step {number}" for number in [*tries][-2:])
    reason = excerpt([*tries.values()][-1].reason, _REASON)
    failed = f"it failed in {steps} and the screen has not changed since. It said: “{reason}”"
    told = failed if reason else f"in {steps} the same was done and nothing changed on the screen"
    return (
        f"not done again: {told}. Do something else, or use another tool: {', '.join(tools)}. "
        "If it only takes time, call wait first"
    )


def _tried(attempts: Sequence[Attempt], keys: tuple[str, ...]) -> Iterator[tuple[int, Attempt]]:
    """The attempts at these calls, or at the first of them, on the present screen; newest first."""
    acts = [act for key in keys for act in acts_of(key)]
    placeless = bool(acts) and not points(acts) and not slots(acts)
    for number, attempt in reversed([*enumerate(attempts, 1)]):
        same = attempt.keys == keys[: len(attempt.keys)]
        # Without a place it acts where pointer or focus is, and another act may have moved these.
        moves = (placeless and not attempt.reason) or attempt.command
        if _may_help(attempt) or (moves and not same):
            return
        if same and not attempt.held:
            yield number, attempt
        if attempt.seen.moved:
            return


def _may_help(attempt: Attempt) -> bool:
    """Whether another try may end otherwise since: something was seen, done or waited for."""
    tools = {each.tool for each in attempt.call.sequence}
    unseen = tools != {"gui_action"} and not attempt.reason  # what a tool did need not show
    acts = [act for key in attempt.keys for act in acts_of(key)]
    slept = attempt.command and bool(_SLEEPS.search(attempt.keys[-1]))
    waited = slept or "wait" in tools or bool(acts and all(isinstance(a, Sleep) for a in acts))
    # What was typed may stand there already: it succeeds each time, and does nothing.
    idle = ("failed", "no_change", *(("succeeded",) if acts else ()))
    seen = attempt.seen.verdict not in idle or attempt.seen.refocused
    return waited or unseen or seen or attempt.seen.roi is not None
