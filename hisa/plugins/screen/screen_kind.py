"""The environment kind ``screen``, and ``display=:N``, its former name for another X display."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hisa.config import EnvironmentSettings
from hisa.environments.kinds import EnvironmentKind, Note
from hisa.errors import UsageError
from hisa.machine.probes import Probe
from hisa.protocols import Environment
from hisa.screen.geometry import Size

__all__ = ["DISPLAY", "SCREEN"]


def _open_screen(
    value: str, *, settings: EnvironmentSettings, image_limit: Size, note: Note, display: str = ""
) -> Environment:
    from hisa.plugins.screen.screen_environment import ScreenEnvironment
    from hisa.plugins.screen.screen_findings import require_screen

    if value and not re.fullmatch(r"[1-9]\d?", value):
        raise UsageError(f"screen:{value}: no number of a monitor", fix="--env screen:2")
    require_screen(display)
    return ScreenEnvironment(
        int(value or 0), display=display, image_limit=image_limit, settings=settings, note=note
    )


def _open_display(
    value: str, *, settings: EnvironmentSettings, image_limit: Size, note: Note
) -> Environment:
    if not re.fullmatch(r":\d{1,5}(\.\d{1,2})?", value):
        raise UsageError(f"display={value}: not a local display", fix="--env screen")
    note(f"display={value} goes with the next release; it is DISPLAY={value} and --env screen")
    return _open_screen("", settings=settings, image_limit=image_limit, note=note, display=value)


def _probes() -> Iterable[Probe]:
    from hisa.plugins.screen.screen_findings import list_findings

    return list_findings()


async def _probe(environment: Environment) -> list[Probe]:
    from hisa.plugins.screen.screen_findings import probe_screen

    return await probe_screen(environment)


SCREEN = EnvironmentKind(
    _open_screen, spellings=("screen", "screen:N"), probes=_probes, probe=_probe
)
DISPLAY = EnvironmentKind(_open_display, spellings=("display=:N",))
