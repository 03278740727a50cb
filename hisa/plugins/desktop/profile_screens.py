"""The size of a desktop's screen where nobody asks for another."""

from __future__ import annotations

from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT

__all__ = ["screen_of"]

_SCREENS = {"osworld": Size(1920, 1080), "spider2v": Size(1920, 1080)}
"""As the published machines have it: on a smaller one GIMP opens below its edge, and the buttons of
VLC's preferences lie there."""


def screen_of(profile: str, width: int | None = None, height: int | None = None) -> Size:
    """Returns the screen of a profile's machine, in pixels.

    Args:
        profile: its name; empty, or any other name, for a desktop without one.
        width: what was asked for; None takes the profile's.
        height: likewise.
    """
    expected = _SCREENS.get(profile, DEFAULT_IMAGE_LIMIT)
    return Size(width or expected.width, height or expected.height)
