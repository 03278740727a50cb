"""The hook of a run with secrets: it puts a border around the machine and does nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hisa.errors import ConfigError
from hisa.hooks import Hook
from hisa.machine.parts import as_root
from hisa.plugins.guard.secrets.secret_environment import SecretEnvironment
from hisa.plugins.guard.secrets.secret_store import load_secrets
from hisa.protocols import Environment
from hisa.screen.ocr import available
from hisa.text.redact.named_secrets import Scrubber

if TYPE_CHECKING:
    from hisa.wiring.base import HookParts

__all__ = ["Secrets"]


class Secrets(Hook):
    """Keeps the values of a run's secrets between its machine and everybody else.

    Args:
        parts: the parts of the run; its log hides the values from now on.

    Raises:
        ConfigError: a value is missing or cannot be used, or pictures cannot be searched.
    """

    name = "secrets"
    border: SecretEnvironment | None = None
    """The border around the machine once that is open; it can hide further values."""

    def __init__(self, parts: HookParts) -> None:
        self._store = load_secrets(parts.settings.secrets)
        if not available():
            raise ConfigError(
                "pictures cannot be read to hide secrets in them: tesseract, or the package that "
                "calls it, is not installed",
                fix=as_root("apt-get install tesseract-ocr"),
            )
        parts.log.hide(self._store.scrubber.shown)
        self._emit = parts.emit
        self._goes_on = bool(parts.events)

    @property
    def scrubber(self) -> Scrubber:
        """The scrubber that keeps the values from models."""
        return self._store.scrubber

    def at_border(self, environment: Environment) -> SecretEnvironment:
        """Returns the machine with a border, as all parts of the run are to see it.

        If the machine is kept after a run, or the run is resumed, values may be on its screen.
        """
        live = self._goes_on or "throw_away" not in environment.capabilities
        self.border = SecretEnvironment(environment, self._store, emit=self._emit, live=live)
        return self.border
