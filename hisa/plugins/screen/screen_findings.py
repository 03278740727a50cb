"""What ``hisa doctor`` says about the screen, and what keeps a run from starting on it."""

from __future__ import annotations

import os
import sys

from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.machine.parts import install_command, list_missing
from hisa.machine.probes import Probe
from hisa.protocols import Environment

__all__ = ["WAYLAND", "list_findings", "probe_screen", "require_screen"]

WAYLAND = (
    "this is a Wayland session: it shows no program the screen, and takes clicks and keys only for "
    "windows of XWayland, which alone could work"
)
_NO_X = "there is no X display: DISPLAY is not set"
_TRY = "works; hisa doctor --env screen tries it"
_WORKS = {"win32": "works, but not on windows of administrators' programs and questions of UAC"}


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
    elif sys.platform != "win32" and (_is_wayland() or not os.environ.get("DISPLAY")):
        missing = [(WAYLAND if _is_wayland() else _NO_X, "an X session, or --env desktop")]
    return missing or [("", "")]


def _is_wayland() -> bool:
    """Whether the session says so, even if it has an X display too, which is XWayland then."""
    kind = os.environ.get("XDG_SESSION_TYPE", "")
    return kind == "wayland" or bool(os.environ.get("WAYLAND_DISPLAY") and kind != "x11")


def require_screen(display: str) -> None:
    """Refuse to open a screen that cannot work.

    Args:
        display: an X display; empty: that of DISPLAY.

    Raises:
        EnvironmentFailed: a package, a right or a display is missing.
    """
    findings = [finding for finding in list_findings() if not finding.ok]
    if findings and not (display and findings[0].detail in (_NO_X, WAYLAND)):
        raise EnvironmentFailed(f"screen: {findings[0].detail}", fix=findings[0].fix)


async def probe_screen(environment: Environment) -> list[Probe]:
    """Tries the screen: a picture, the pointer moved a little and back, and the tree."""
    from hisa.plugins.screen.screen_environment import ScreenEnvironment

    assert isinstance(environment, ScreenEnvironment)
    notes: list[str] = []
    environment.note = notes.append
    try:
        async with environment as screen:
            shot = (await screen.driver.ask("look", 0.0)).shot
            await screen.driver.ask("nudge")
            able = screen.capabilities
    except (EnvironmentFailed, ActionRefused) as error:
        way = "allow this program to control the computer, or run it as administrator"
        return [Probe(environment.name, False, str(error), getattr(error, "fix", way))]
    scale = f"{shot.mapping.across:g} pixels a point"
    place = f"corner at ({shot.mapping.left:g}, {shot.mapping.top:g})"
    tree = "read" if "elements" in able else "none, and no eyes"
    eyes = install_command("eyes")
    return [
        Probe("picture", True, f"{shot.width}x{shot.height}, {scale}, {place}"),
        Probe("pointer", True, "went and came back"),
        Probe("tree", "elements" in able, tree, eyes, needed=False),
        Probe("commands", "execute" in able, "; ".join(notes), needed=False),
    ]
