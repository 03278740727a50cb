"""Sees elements on a picture: the entry point ``eyes`` of the group ``hisa.lists``."""

from __future__ import annotations

from hisa.plugins.eyes.detector import can_detect, detect_controls
from hisa.plugins.eyes.icon_reader import IconName, read_icons
from hisa.plugins.eyes.pixel_scene import build_elements, find_bare_controls
from hisa.screen.observation import Element, Observation
from hisa.screen.ocr import available as can_read
from hisa.screen.ocr import read_text

__all__ = ["EYES"]


class Eyes:
    """See `hisa.grounder.base.ElementSight`: detector, text reader and icon reader together."""

    def available(self) -> bool:
        """Whether the detector and a reader of text are installed."""
        return can_detect() and can_read()

    def see_elements(self, observation: Observation) -> tuple[Element, ...]:
        """Returns the elements on the picture of ``observation``, in screen space.

        Raises:
            OcrUnavailable: the text cannot be read.
        """
        picture = observation.without_pointer.screenshot.full
        controls = detect_controls(picture)
        lines = read_text(picture)
        bare = find_bare_controls(controls, lines)
        names = read_icons(picture, [controls[number].box for number in bare])
        icons: dict[int, IconName] = {
            number: name for number, name in zip(bare, names, strict=True) if name is not None
        }
        return build_elements(observation, controls, lines, icons)


EYES = Eyes()
