"""Lists what is only drawn, as the entry point ``drawn`` of the group ``hisa.lists``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hisa.grounder.thing import Thing
from hisa.plugins.reading.control_parts import with_arrows
from hisa.plugins.reading.drawn_shapes import with_shapes
from hisa.plugins.reading.tracks import find_slider_handle
from hisa.screen.observation import Observation

__all__ = ["DRAWN"]


class DrawnThings:
    """Title bar buttons, ticks, icons, the handles of sliders and arrows."""

    def list_things(
        self, things: Sequence[Thing], observation: Observation, *, parts: bool, drawn: bool
    ) -> list[Thing]:
        """Returns the things with those that are only drawn; see `hisa.grounder.base.ThingList`.

        Args:
            things: known so far, from accessibility and read text.
            observation: the look that they are on.
            parts: whether arrows of fields are added.
            drawn: whether shapes on the picture are searched.
        """
        known = [
            replace(t, handle=find_slider_handle(t, observation)) if t.role == "slider" else t
            for t in things
        ]
        if parts:
            known = with_arrows(known)
        return with_shapes(known, observation, arrows=parts) if drawn else known


DRAWN = DrawnThings()
