"""Opens the environment that the settings name."""

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
    """Returns the environment of ``settings.kind``, not started yet; imports only its own package.

    Args:
        settings: the kind, and the settings that it obeys.
        image_limit: the largest screenshot that models see, in pixels.
        note: called with a message about what takes long, or about what a reader of the run
            should know.

    Raises:
        UsageError: an unknown kind, with a list of those that are allowed, or a setting that the
            kind does not obey.
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
    """Returns the environment that an earlier process left running, to be entered again.

    Args:
        settings: the kind of the environment.
        handle: what its ``belongs_to`` returned in the earlier process.
        image_limit: the largest screenshot that models see, in pixels.

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
