"""An environment of an outside package."""

from __future__ import annotations

from hisa.config import EnvironmentSettings
from hisa.protocols import CommandResult, Environment
from hisa.screen.geometry import Size
from hisa.testing import FakeEnvironment


def open_form(value: str, *, settings: EnvironmentSettings, image_limit: Size) -> Environment:
    """``--env form`` and ``--env form=NAME``: a form in memory, on a machine of that name."""
    commands = {"hostname": CommandResult(0, f"{value or 'nameless'}\n")}
    size = Size(settings.width or 640, settings.height or 400)
    return FakeEnvironment(size, image_limit=image_limit, commands=commands)
