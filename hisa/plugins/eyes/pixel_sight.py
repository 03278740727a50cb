"""Sees elements on a picture: the entry point ``eyes`` of the group ``hisa.lists``."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence

from hisa.grounder.thing import Thing
from hisa.plugins.eyes.detector import can_detect, detect_controls
from hisa.plugins.eyes.icon_reader import read_icons
from hisa.plugins.eyes.pixel_scene import Sighting, find_bare_controls, label_icons, list_sightings
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.screen.ocr import OcrUnavailable, read_text
from hisa.screen.ocr import available as can_read
from hisa.screen.sight import is_seen

__all__ = ["EYES"]


class Eyes:
    """Sees by detector, text reader and icon reader together.

    See `hisa.grounder.base.ElementSight` and `hisa.grounder.base.ThingList`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = weakref.WeakKeyDictionary[Screenshot, tuple[Sighting, ...]]()

    def available(self) -> bool:
        """Whether the detector and a reader of text are installed."""
        return can_detect() and can_read()

    def see_elements(self, observation: Observation) -> tuple[Element, ...]:
        """Returns the elements on the picture of ``observation``, in screen space.

        Raises:
            OcrUnavailable: the text cannot be read.
        """
        return tuple(sighting.element for sighting in self._look(observation))

    def list_things(
        self, things: Sequence[Thing], observation: Observation, *, parts: bool, drawn: bool
    ) -> list[Thing]:
        """Returns the things; what was seen with an icon is labelled by all that it may mean.

        Args:
            things: known so far, from accessibility and read text.
            observation: the look that they are on.
            parts: not used.
            drawn: whether the picture is examined; a new one takes about a second.
        """
        if not drawn or not is_seen(observation) or not self.available():
            return list(things)
        try:
            return label_icons(things, self._look(observation))
        except OcrUnavailable:
            return list(things)

    def _look(self, observation: Observation) -> tuple[Sighting, ...]:
        """Returns the sightings of a picture, which the nets see once."""
        with self._lock:
            sightings = self._known.get(observation.screenshot)
            if sightings is None:
                sightings = self._known[observation.screenshot] = _see(observation)
        return sightings


def _see(observation: Observation) -> tuple[Sighting, ...]:
    picture = observation.without_pointer.screenshot.full
    controls = detect_controls(picture)
    lines = read_text(picture)
    bare = find_bare_controls(controls, lines)
    icons = read_icons(picture, [controls[number].box for number in bare])
    return list_sightings(observation, controls, lines, dict(zip(bare, icons, strict=True)))


EYES = Eyes()
