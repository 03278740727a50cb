"""Waits between the actions of one list, so that each meets what the one before brought about.

Applications read their events in order but do much of what follows later: a file dialog looks its
folder up after the last character, a menu opens, a window takes the focus. A person sees that
before the next key; a list of actions does not, and Enter is lost or text lands elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from .settle import Work, settle
from .x_screen import Screen

__all__ = ["ActionPacing", "may_affect"]

_LONGEST_SECONDS = 2.0
"""For one wait on an idle machine: a dialog of an office program is drawn in about half of it."""
_ALL_SECONDS = 30.0
"""For all waits of one list, so that a long list ends before its request does."""
_BRINGING = frozenset({"click", "drag", "mouse_up", "press", "hotkey", "write"})
_NEEDING = frozenset({"click", "drag", "mouse_down", "press", "hotkey", "write", "key_down"})


def may_affect(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether ``after`` may depend on what ``before`` brings about.

    The same action again does not wait for itself: two clicks are a double click, keys are held,
    and text goes on where it ended.
    """
    if before.get("kind") not in _BRINGING or after.get("kind") not in _NEEDING:
        return False
    return before != after and not before.get("kind") == after.get("kind") == "write"


class ActionPacing:
    """Waits on one display until what an action brought about is there.

    Args:
        screen: what is watched.
        read: waits until the window in front has read its events.
        work: what the applications do; None where it cannot be told.
    """

    def __init__(
        self, screen: Screen, read: Callable[[], None], work: Callable[[], Work] | None
    ) -> None:
        self._screen = screen
        self._read = read
        self._work = work
        self._spent = 0.0

    def begin(self) -> None:
        """A new list of actions begins."""
        self._spent = 0.0

    def between(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Wait where the next action may depend on the last one, as long as the list allows."""
        if may_affect(before, after):
            self.pause()

    def pause(self) -> None:
        """Wait until what was asked of the applications is done, as long as the list allows."""
        left = min(_LONGEST_SECONDS, _ALL_SECONDS - self._spent)
        if left <= 0:
            return
        started = time.monotonic()
        self._read()
        settle(self._screen, left, self._work)
        self._spent += time.monotonic() - started
