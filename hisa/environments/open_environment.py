"""From settings to an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hisa.config import EnvironmentSettings
from hisa.errors import UsageError
from hisa.machine import plugins
from hisa.plugins.desktop.screen import screen_of
from hisa.protocols import Environment
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT

if TYPE_CHECKING:
    from hisa.environments.remote import RemoteEnvironment
    from hisa.plugins.desktop.display import DisplayEnvironment
    from hisa.plugins.desktop.private_desktop import DesktopEnvironment
    from hisa.plugins.machines.vm_clone import VmEnvironment

__all__ = ["open_environment"]


def open_environment(
    settings: EnvironmentSettings,
    image_limit: Size = DEFAULT_IMAGE_LIMIT,
    note: Callable[[str], None] = lambda _: None,
) -> Environment:
    """The environment of ``settings.kind``, not started yet; only what it takes is imported.

    Args:
        settings: which one, and what it takes.
        image_limit: the largest picture that models see.
        note: called with what takes long, and with what a reader of the run should know.

    Raises:
        UsageError: an unknown kind; the allowed ones are named.
        PluginFailed: the package that has the kind fails.
    """
    if settings.share and settings.family != "desktop":
        raise UsageError(
            f"environment {settings.kind!r} cannot share a folder; only a private desktop can",
            fix="--env desktop; or a task file whose setup copies files in, and --fetch",
        )
    if settings.fork and settings.family != "vm":
        raise UsageError(
            f"environment {settings.kind!r} cannot be forked; only a virtual machine can",
            fix="--env vm:NAME, or leave --fork out",
        )
    if settings.family == "browsergym":
        from hisa.plugins.gym.browser_gym import BrowserGymEnvironment

        return BrowserGymEnvironment(image_limit=image_limit)
    environment = _opened(settings, image_limit, note)
    if environment is None:
        return _added(settings, image_limit)
    environment.file_limit = settings.limits.file_mb << 20
    return environment


def _added(settings: EnvironmentSettings, image_limit: Size) -> Environment:
    """That of an installed package: ``NAME`` or ``NAME=VALUE``."""
    name, _, value = settings.value.partition("=")
    made: Environment | None = plugins.make(
        "environments", name, value, settings=settings, image_limit=image_limit
    )
    if made is None:
        ours = ("desktop", "desktop:PROFILE", "display=:N", "guest=http://HOST:PORT", "vm:NAME")
        allowed = ", ".join([*ours, "browsergym", *plugins.announced_names("environments")])
        raise UsageError(
            f"environment {settings.kind!r}: allowed are {allowed}", fix="--env desktop"
        )
    return made


def _opened(
    settings: EnvironmentSettings, image_limit: Size, note: Callable[[str], None]
) -> DesktopEnvironment | DisplayEnvironment | RemoteEnvironment | VmEnvironment | None:
    """One of HiSA's own; None where it is none of these."""
    match settings.family:
        case "vm":
            from hisa.plugins.machines.vm_clone import VmEnvironment

            size = screen_of(settings.value, settings.width, settings.height)
            return VmEnvironment(settings.value, size, image_limit=image_limit, fork=settings.fork)
        case "desktop":
            from hisa.plugins.desktop.private_desktop import DesktopEnvironment
            from hisa.plugins.desktop.share import parse_shares

            size = screen_of(settings.value, settings.width, settings.height)
            return DesktopEnvironment(
                size,
                image_limit=image_limit,
                idle=settings.idle,
                limits=settings.limits,
                shares=parse_shares(settings.share),
                profile=settings.value,
            )
        case "display":
            from hisa.plugins.desktop.display import DisplayEnvironment

            return DisplayEnvironment(
                settings.value,
                image_limit=image_limit,
                folder=settings.display.folder,
                limits=settings.limits,
                note=note,
            )
        case "guest":
            from hisa.environments.remote import RemoteEnvironment

            return RemoteEnvironment(
                settings.value, settings.remote, image_limit=image_limit, note=note
            )
        case "browsergym" | "package":
            return None
