"""Puts secrets of the settings in next to the machine, and takes them out of all it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hisa.plugins.guard.secrets.secrets_hook import Secrets
    from hisa.wiring.base import HookParts

__all__ = ["open_secrets"]


def open_secrets(parts: HookParts) -> Secrets | None:
    """Returns the hook of a run whose settings name a secret; the log hides its value from now on.

    Raises:
        ConfigError: a value is missing or cannot be used, or pictures cannot be searched.
    """
    if not parts.settings.secrets:
        return None
    from hisa.plugins.guard.secrets.secrets_hook import Secrets  # few runs have secrets

    return Secrets(parts)
