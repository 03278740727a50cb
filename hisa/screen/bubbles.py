"""Windows that a program opens over its own and that no window manager lists.

Browsers use them for messages and small forms: a bookmark's name, a request for a permission.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Observation

__all__ = ["TOPS", "bubbles", "in_front"]

TOPS = frozenset({"alert", "dialog", "window"})
"""Roles of windows that a program opens over its own."""


def bubbles(observation: Observation) -> Mapping[str, BoundingBox]:
    """Returns the boxes of the active program's bubbles by their titles, in screen space."""
    active = observation.active
    if active is None:
        return {}
    listed = {window.title for window in observation.windows}
    return {
        element.window: element.box
        for element in observation.elements or ()
        if element.role in TOPS and element.app == active.app
        if element.name == element.window != "" and element.window not in listed
    }


def in_front(observation: Observation) -> Callable[[str], bool]:
    """Returns a function that tests whether a window is in front, by its title.

    In front are the focused window, the bubbles over it, and the empty title: an element without a
    window is an open menu or list.
    """
    if observation.active is None:
        return lambda window: True
    return frozenset(("", observation.active.title, *bubbles(observation))).__contains__
