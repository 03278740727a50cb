"""Interim: opens the hook of secrets by its name until the list of hooks does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hisa.config import Settings
from hisa.errors import ConfigError
from hisa.machine import plugins
from hisa.protocols import Emit, Environment
from hisa.runs.log import RunLog
from hisa.text.redact.named_secrets import Scrubber

__all__ = ["SecretParts", "open_secrets"]


class SecretParts:
    """Wraps the machine; without secrets it gives it back as it is."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def machine(self, environment: Environment, *, live: bool = False) -> Environment:
        """The environment as everybody but the machine itself sees it."""
        made: Environment = environment if self.hook is None else self.hook.at_border(environment)
        return made

    @property
    def scrubber(self) -> Scrubber | None:
        """Keeps values from models; None where there are no secrets."""
        found: Scrubber | None = getattr(self.hook, "scrubber", None)
        return found


def open_secrets(settings: Settings, log: RunLog, emit: Emit) -> SecretParts:
    """The secrets of the settings, which the log hides from now on."""
    parts = SimpleNamespace(settings=settings, log=log, emit=emit, events=())
    if not settings.secrets:
        return SecretParts(None)
    hook = plugins.make("hooks", "secrets", parts)
    if hook is None:
        raise ConfigError("secrets need the plugin guard", fix="install it")
    return SecretParts(hook)
