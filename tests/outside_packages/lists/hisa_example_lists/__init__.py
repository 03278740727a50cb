"""A list of things of an outside package."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.grounder.thing import Thing
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation

_SIDE = 40
"""Pixels of the screen."""


class KioskCorner:
    """The corner of a kiosk's window that calls for help when it is touched: nothing shows it."""

    def list_things(
        self, things: Sequence[Thing], observation: Observation, *, parts: bool, drawn: bool
    ) -> list[Thing]:
        """The things and the corner of each window that belongs to a kiosk."""
        extended = list(things)
        for window in observation.windows:
            if window.app == "kiosk" and window.box is not None:
                right, bottom = window.box.right, window.box.bottom
                box = BoundingBox(right - _SIDE, bottom - _SIDE, right, bottom, "screen")
                extended.append(Thing(Element("push button", "help corner", box), box))
        return extended


CORNER = KioskCorner()
