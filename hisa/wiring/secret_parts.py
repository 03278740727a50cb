"""Puts the secrets of a run between its machine, its models and its log and everybody else."""

from __future__ import annotations

from hisa.config import Settings
from hisa.environments.secret_store import SecretStore, load_secrets
from hisa.errors import ConfigError
from hisa.machine.parts import as_root
from hisa.protocols import Emit, Environment
from hisa.runs.log import RunLog
from hisa.screen.ocr import available
from hisa.text.redact.named_secrets import Scrubber

__all__ = ["SecretParts", "open_secrets"]


class SecretParts:
    """Wraps the machine; without secrets it gives it back as it is.

    Args:
        store: the secrets.
        emit: takes a `Noted` for each use.
    """

    def __init__(self, store: SecretStore, emit: Emit) -> None:
        self._store = store
        self._emit = emit

    def machine(self, environment: Environment, *, live: bool = False) -> Environment:
        """The environment as everybody but the machine itself sees it.

        Args:
            environment: the machine's own.
            live: values may be on its screen already.
        """
        if not self._store.secrets:
            return environment
        from hisa.environments.secret_environment import SecretEnvironment  # few runs have secrets

        return SecretEnvironment(environment, self._store, emit=self._emit, live=live)

    @property
    def scrubber(self) -> Scrubber | None:
        """Keeps values from models; None where there are no secrets."""
        return self._store.scrubber if self._store.secrets else None


def open_secrets(settings: Settings, log: RunLog, emit: Emit) -> SecretParts:
    """The secrets of the settings, which the log hides from now on.

    Raises:
        ConfigError: a value is not there or cannot be used, or pictures cannot be searched.
    """
    store = load_secrets(settings.secrets)
    if store.secrets:
        if not available():
            raise ConfigError(
                "secrets are hidden in pictures by reading these, and nothing here can: tesseract "
                "is not installed, or no package that asks it",
                fix=as_root("apt-get install tesseract-ocr"),
            )
        log.hide(store.scrubber.shown)
    return SecretParts(store, emit)
