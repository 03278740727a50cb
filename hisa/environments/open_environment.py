"""From settings to an environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hisa.config import EnvironmentSettings
from hisa.environments.kinds import Note, find_kind
from hisa.errors import UsageError
from hisa.machine import plugins
from hisa.protocols import Environment
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT

__all__ = ["attach_environment", "open_environment"]


def open_environment(
    settings: EnvironmentSettings,
    image_limit: Size = DEFAULT_IMAGE_LIMIT,
    note: Note = lambda _: None,
) -> Environment:
    """The environment of ``settings.kind``, not started yet; only what it takes is imported.

    Args:
        settings: which one, and what it takes.
        image_limit: the largest picture that models see.
        note: called with what takes long, and with what a reader of the run should know.

    Raises:
        UsageError: an unknown kind, of which the allowed ones are named, or a setting that the
            kind does not take.
        PluginFailed: the package that has the kind fails.
    """
    point, kind, value = find_kind(settings)
    if settings.share and "share" not in kind.takes:
        raise UsageError(
            f"environment {settings.kind!r} cannot share a folder; only a private desktop can",
            fix="--env desktop; or a task file whose setup copies files in, and --fetch",
        )
    with plugins.blaming_package("environments", point):
        return kind.open(value, settings=settings, image_limit=image_limit, note=note)


def attach_environment(
    settings: EnvironmentSettings, handle: Mapping[str, Any], image_limit: Size
) -> Environment:
    """The environment that an earlier process left up, to be entered again.

    Raises:
        EnvironmentFailed: it is gone.
        UsageError: environments of ``settings.kind`` end with their process.
        PluginFailed: the package that has the kind fails.
    """
    point, kind, value = find_kind(settings)
    if kind.attach is None:
        raise UsageError(f"environment {settings.kind!r} ends with its process", fix="hisa run …")
    with plugins.blaming_package("environments", point):
        return kind.attach(handle, value, image_limit=image_limit)
