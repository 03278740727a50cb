"""Hides what a person types into password fields from the log, models, and all later looks.

The machine gets a border only once something is typed that must be hidden.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hisa.hooks import Run
from hisa.protocols import Emit, Environment
from hisa.runs.log import RunLog
from hisa.screen.hit_test import focused_element
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, PASSWORD
from hisa.text.redact.named_secrets import placeholder

if TYPE_CHECKING:
    from hisa.plugins.guard.secrets.secret_environment import SecretEnvironment

__all__ = ["TypedSecrets", "is_echoed", "kind_of_focus"]

_LEAST = 4
"""Characters of the shortest value that is looked for elsewhere, as for named secrets."""
_SECRET_NAME = re.compile(
    r"passw|passphrase|passcode|kennwort|contraseña|mot de passe|\bpin\b|secret|one.time|\botp\b"
    r"|verification code|security code|\bcv[cv]\b|api.?key|token",
    re.IGNORECASE,
)
"""Found in the names of fields that take secrets although their role does not say so."""


class TypedSecrets:
    """The values that persons typed in one run and nobody may read; none can be used by a name."""

    _environment: Environment
    _border: SecretEnvironment | None = None
    """The border that hides values: that of the hook for named secrets, else one that is put on the
    machine when the first value is typed."""

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._log, self._emit = log, emit
        self._names: dict[str, str] = {}

    def watch(self, run: Run) -> None:
        """Take the machine of a run, the object that all its parts hold."""
        self._environment = run.environment
        borders = (getattr(hook, "border", None) for hook in run.hooks)
        self._border = next(filter(None, borders), None)

    @property
    def machine(self) -> Environment:
        """The machine itself, with nothing masked."""
        return self._border.machine if self._border else self._environment

    def require_border(self) -> None:
        """Raise `ActionRefused` if typed text could not be hidden; nothing may be typed then."""
        if self._border is None:
            from hisa.plugins.guard.secrets.machine_border import require_border  # few runs need it

            require_border(self._environment)

    def close(self) -> None:
        """Take the border off the machine, as the run has ended."""
        if self._border is not None:
            from hisa.plugins.guard.secrets.machine_border import remove_border  # few runs need it

            remove_border(self._environment, self._border)

    def hide(self, value: str) -> str:
        """Hide a value everywhere from now on; returns the placeholder that replaces it."""
        if value not in self._names:
            name = self._names[value] = f"typed_{len(self._names) + 1}"
            if len(value) >= _LEAST and len({*value}) > 1 and value not in placeholder(name):
                self._log.hide(self._ensure_border().hide(name, value))
        return placeholder(self._names[value])

    def cover(self, before: Observation, after: Observation) -> None:
        """Mask what appeared on the screen between two looks, and its field, in all later looks."""
        self._ensure_border().cover(before, after)

    def _ensure_border(self) -> SecretEnvironment:
        """The machine's border: that of named secrets, else one that is put on it now."""
        if self._border is None:
            from hisa.plugins.guard.secrets.machine_border import put_border  # few runs need it

            self._border = put_border(self._environment, self._emit)
        return self._border


def kind_of_focus(observation: Observation) -> str:
    """Returns whether what has the focus takes a "password", "plain" text, or is "unknown".

    A terminal is unknown: it may ask for a password, and its role is then the same.
    """
    if any(_takes_secret(e) for e in observation.elements or () if "focused" in e.states):
        return "password"
    element = focused_element(observation)
    known = element is not None and observation.complete and element.role in FIELDS - {"terminal"}
    return "plain" if known else "unknown"


def _takes_secret(element: Element) -> bool:
    words = f"{element.name} {element.label} {element.description}" * (element.role in FIELDS)
    return element.role == PASSWORD or _SECRET_NAME.search(words) is not None


def is_echoed(text: str, before: Observation, after: Observation) -> bool:
    """Whether a typed text is on the screen more often than before, as the elements say.

    Args:
        text: the typed text.
        before: a look before it was typed.
        after: a look after it was typed.
    """
    counts = [
        sum(e.text.count(text) for e in observation.elements or ())
        for observation in (before, after)
    ]
    return bool(text.strip()) and counts[1] > counts[0]
