"""The default size of a desktop's screen."""

from __future__ import annotations

from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT

__all__ = ["screen_of"]

_SCREENS = {"osworld": Size(1920, 1080), "spider2v": Size(1920, 1080)}
"""The size of the published machines: on a smaller screen, GIMP's window and the buttons of VLC's
preferences extend below its edge."""


def screen_of(profile: str, width: int | None = None, height: int | None = None) -> Size:
    """Returns the screen size of a profile's machine, in pixels.

    Args:
        profile: the profile's name; empty or unknown: the size of a desktop without a profile.
        width: the requested width; None: the profile's.
        height: the requested height; None: the profile's.
    """
    expected = _SCREENS.get(profile, DEFAULT_IMAGE_LIMIT)
    return Size(width or expected.width, height or expected.height)
