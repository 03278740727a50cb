"""From settings to an environment."""

from __future__ import annotations

from hisa.config import EnvironmentSettings
from hisa.environments.desktop import DesktopEnvironment
from hisa.environments.display import DisplayEnvironment
from hisa.environments.remote import RemoteEnvironment
from hisa.environments.vm import VmEnvironment
from hisa.errors import UsageError
from hisa.geometry import Size
from hisa.observation import DEFAULT_IMAGE_LIMIT
from hisa.protocols import Environment

__all__ = ["open_environment"]


def open_environment(
    settings: EnvironmentSettings, image_limit: Size = DEFAULT_IMAGE_LIMIT
) -> Environment:
    """The environment of ``settings.kind``, not started yet.

    Raises:
        UsageError: an unknown kind; the allowed ones are named.
    """
    if settings.kind.startswith("vm:"):
        size = Size(settings.width, settings.height)
        return VmEnvironment(settings.kind.removeprefix("vm:"), size, image_limit=image_limit)
    kind, _, value = settings.kind.partition("=")
    match kind, value:
        case "desktop", "":
            size = Size(settings.width, settings.height)
            return DesktopEnvironment(size, image_limit=image_limit, idle=settings.idle)
        case "display", text if text:
            return DisplayEnvironment(text, image_limit=image_limit)
        case "guest", text if text:
            return RemoteEnvironment(text, image_limit=image_limit)
        case _:
            raise UsageError(
                f"environment {settings.kind!r}: allowed are desktop, display=:N, "
                "guest=http://HOST:PORT, vm:NAME",
                fix="--env desktop",
            )
