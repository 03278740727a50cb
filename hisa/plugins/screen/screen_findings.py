"""What ``hisa doctor`` says about the screen, and what keeps a run from starting on it."""

from __future__ import annotations

import os
import sys

from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.machine.parts import install_command, list_missing
from hisa.machine.probes import Probe
from hisa.protocols import Environment

__all__ = ["list_findings", "probe_screen", "require_screen"]

_NO_X = "there is no X display: DISPLAY is not set"
_TRY = "works; hisa doctor --env screen tries it"
_WORKS = {"win32": "works, but not on windows of administrators' programs and questions of UAC"}
_WAYLAND = "a Wayland session without XWayland shows no program its screen"


def list_findings() -> list[Probe]:
    """Returns what can be seen without touching the screen."""
    lacking = list_missing("screen")
    if lacking:
        detail = f"needs {', '.join(lacking)}"
        return [Probe("own screen", False, detail, install_command("screen"), needed=False)]
    return [
        Probe("own screen", not why, why or _WORKS.get(sys.platform, _TRY), fix, needed=False)
        for why, fix in _why()
    ]


def _why() -> list[tuple[str, str]]:
    """Returns what is missing and how to get it; one empty pair if nothing is."""
    missing: list[tuple[str, str]] = []
    if sys.platform == "darwin":
        from hisa.plugins.screen.macos_system import list_permissions

        rights = [(name, way) for name, granted, way in list_permissions() if not granted]
        missing = [(f"no right for {name}", way) for name, way in rights]
    elif sys.platform != "win32" and not os.environ.get("DISPLAY"):
        wayland = os.environ.get("WAYLAND_DISPLAY")
        missing = [(_WAYLAND if wayland else _NO_X, "an X session, or --env desktop")]
    return missing or [("", "")]


def require_screen(display: str) -> None:
    """Refuse to open a screen that cannot work.

    Args:
        display: an X display; empty: that of DISPLAY.

    Raises:
        EnvironmentFailed: a package, a right or a display is missing.
    """
    findings = [finding for finding in list_findings() if not finding.ok]
    if findings and not (display and findings[0].detail in (_NO_X, _WAYLAND)):
        raise EnvironmentFailed(f"screen: {findings[0].detail}", fix=findings[0].fix)


async def probe_screen(environment: Environment) -> list[Probe]:
    """Tries the screen: a picture, the pointer moved by a point and back, and the tree."""
    from hisa.plugins.screen.screen_environment import ScreenEnvironment

    assert isinstance(environment, ScreenEnvironment)
    notes: list[str] = []
    environment.note = notes.append
    try:
        async with environment as screen:
            shot = (await screen.driver.ask("look", 0.0)).shot
            moved = await screen.driver.ask("nudge")
            able = screen.capabilities
    except (EnvironmentFailed, ActionRefused) as error:
        return [Probe(environment.name, False, str(error), getattr(error, "fix", ""))]
    scale = f"{shot.mapping.across:g} pixels a point"
    way = "allow this program to control the computer (Accessibility), or run it as administrator"
    return [
        Probe(
            "picture",
            True,
            f"{shot.width}x{shot.height}, {scale}, corner at "
            f"({shot.mapping.left:g}, {shot.mapping.top:g})",
        ),
        Probe("pointer", moved, "went and came back" if moved else "did not move", way),
        Probe(
            "tree",
            "elements" in able,
            "read" if "elements" in able else "none, and no eyes",
            install_command("eyes"),
            needed=False,
        ),
        Probe("commands", "execute" in able, "; ".join(notes), needed=False),
    ]
