"""Takes pictures of one monitor, and measures how its pixels relate to the pointer's points.

On a Retina monitor a picture has two pixels for each of the pointer's points; Windows may scale by
any factor. The factor is read off every picture: its size over the monitor's size in points.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageChops

from hisa.errors import EnvironmentFailed
from hisa.screen.caret import CARET_HEIGHT, CARET_WIDTH

__all__ = ["Camera", "PictureMapping", "Shot", "is_blank", "is_same"]


@dataclass(frozen=True)
class PictureMapping:
    """Where a picture's pixels lie among the pointer's points.

    ``left`` and ``top`` are the monitor's corner in points, negative beyond the primary monitor.
    """

    left: float
    top: float
    across: float
    """Pixels of the picture per point, from left to right."""
    down: float
    width: int
    height: int

    def to_points(self, x: float, y: float) -> tuple[int, int] | None:
        """Returns the point that shows a pixel; None outside the picture."""
        column, row = round(x), round(y)
        if not (0 <= column < self.width and 0 <= row < self.height):
            return None
        return (
            round(self.left) + int((column + 0.5) / self.across),
            round(self.top) + int((row + 0.5) / self.down),
        )

    def to_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Returns the place of a point in the picture; it may lie outside."""
        return (x - self.left) * self.across, (y - self.top) * self.down


@dataclass(frozen=True)
class Shot:
    """A picture as rows of red, green and blue, and its mapping."""

    width: int
    height: int
    rgb: bytes
    mapping: PictureMapping


class Camera:
    """Takes pictures of one monitor.

    Args:
        gui: the module ``pyautogui``, whose points are the pointer's.
        monitor: the number of the monitor, from 1; 0: the primary one.
    """

    def __init__(self, gui: Any, monitor: int = 0) -> None:
        self._gui = gui
        self._number = monitor

    def take(self) -> Shot:
        """Takes a picture; a monitor that came, went or changed its size is seen at once.

        Raises:
            EnvironmentFailed: there is no such monitor; names those that there are.
        """
        import mss

        if sys.platform == "darwin":  # the default would halve the picture of a Retina monitor
            import mss.darwin as darwin

            darwin.IMAGE_OPTIONS &= ~darwin.kCGWindowImageNominalResolution
        with mss.MSS() as screens:
            everything, area = screens.monitors[0], self._choose(screens)
            try:
                shot = screens.grab(area)
                size, bgra = (shot.size.width, shot.size.height), bytes(shot.raw)
                rgb = Image.frombytes("RGB", size, bgra, "raw", "BGRX").tobytes()
            except (mss.ScreenShotError, OSError):
                if area["left"] or area["top"]:
                    raise  # PyAutoGUI takes pictures of the primary monitor alone
                picture = self._gui.screenshot().convert("RGB")
                size, rgb = picture.size, picture.tobytes()
        return Shot(*size, rgb, self._measure(area, everything, size))

    def _choose(self, screens: Any) -> dict[str, Any]:
        if not self._number:
            primary: dict[str, Any] = screens.primary_monitor
            return primary
        if not 1 <= self._number < len(screens.monitors):
            sizes = [f"{n}: {m['width']}x{m['height']}" for n, m in enumerate(screens.monitors)]
            raise EnvironmentFailed(f"no monitor {self._number}; there are {', '.join(sizes[1:])}")
        chosen: dict[str, Any] = screens.monitors[self._number]
        return chosen

    def _measure(
        self, area: dict[str, Any], everything: dict[str, Any], size: tuple[int, int]
    ) -> PictureMapping:
        """Returns the mapping of a picture of ``area``, whose units may not be the pointer's.

        Args:
            area: the monitor, in the units of mss.
            everything: all monitors together, of which PyAutoGUI knows the size on X.
            size: of the picture, in pixels.
        """
        points = self._gui.size()
        known = [area] if area.get("is_primary") or (area["left"], area["top"]) == (0, 0) else []
        if sys.platform not in ("win32", "darwin"):
            known = [everything]
        units = points[0] / known[0]["width"] if known else 1.0
        wide, high = area["width"] * units, area["height"] * units
        return PictureMapping(
            area["left"] * units, area["top"] * units, size[0] / wide, size[1] / high, *size
        )


def is_blank(rgb: bytes) -> bool:
    """Whether all of a picture is black, as it is without permission, or locked."""
    return not any(rgb[:30_000]) and rgb.count(0) == len(rgb)


def is_same(before: Shot, after: Shot) -> bool:
    """Whether two pictures differ by no more than a blinking caret."""
    size = (before.width, before.height)
    if before.rgb == after.rgb or size != (after.width, after.height):
        return before.rgb == after.rgb
    pictures = [Image.frombytes("RGB", size, shot.rgb) for shot in (before, after)]
    left, top, right, bottom = ImageChops.difference(*pictures).getbbox() or (0, 0, 0, 0)
    return right - left <= CARET_WIDTH and bottom - top <= CARET_HEIGHT[1]
