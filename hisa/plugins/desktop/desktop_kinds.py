"""The environment kind ``desktop``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hisa.config import EnvironmentSettings
from hisa.environments.kinds import EnvironmentKind, Note, require_linux
from hisa.environments.share import parse_shares
from hisa.machine.probes import Probe
from hisa.plugins.desktop.profile_screens import screen_of
from hisa.protocols import Environment
from hisa.screen.geometry import Size

__all__ = ["DESKTOP"]


def _open_desktop(
    value: str, *, settings: EnvironmentSettings, image_limit: Size, note: Note
) -> Environment:
    require_linux("a private desktop")
    from hisa.plugins.desktop.private_desktop import DesktopEnvironment

    return DesktopEnvironment(
        screen_of(value, settings.width, settings.height),
        image_limit=image_limit,
        idle=settings.idle,
        limits=settings.limits,
        shares=parse_shares(settings.share),
        profile=value,
    ).with_settings(settings)


def _attach(handle: Mapping[str, Any], value: str = "", *, image_limit: Size) -> Environment:
    from hisa.plugins.desktop.private_desktop import DesktopEnvironment

    return DesktopEnvironment.attach(handle, value, image_limit=image_limit)


def _probes() -> Iterator[Probe]:
    require_linux("a private desktop")
    from hisa.plugins.desktop.runtime import list_desktops
    from hisa.plugins.desktop.runtime.probe import probe

    left = len(list_desktops())
    detail = f"{left} running; list them with hisa desktop ls" if left else "none running"
    yield Probe("private desktops", True, detail)
    yield from probe()


DESKTOP = EnvironmentKind(
    _open_desktop,
    spellings=("desktop", "desktop:PROFILE"),
    takes=frozenset({"share"}),
    attach=_attach,
    probes=_probes,
)
