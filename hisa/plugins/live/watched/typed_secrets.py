"""Hides what a person types into password fields: from log, models, and all later looks.

Until something was typed that must be hidden, the machine is used as it is.
"""

from __future__ import annotations

import re
from typing import Any

from hisa.environments.secret_store import SecretStore
from hisa.plugins.live.watched.parked_parts import Passing
from hisa.protocols import Emit, Environment
from hisa.runs.log import RunLog
from hisa.screen.lies_at import focused_element
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, PASSWORD
from hisa.text.redact.named_secrets import Scrubber, forms, placeholder

__all__ = ["TypedSecrets", "is_echoed", "kind_of_focus"]

_LEAST = 4
"""Characters of the shortest value that is looked for elsewhere, as for named secrets."""
_SECRET_NAME = re.compile(
    r"passw|passphrase|passcode|kennwort|contraseña|mot de passe|\bpin\b|secret|one.time|\botp\b"
    r"|verification code|security code|\bcv[cv]\b|api.?key|token",
    re.IGNORECASE,
)
"""Names of fields that take secrets although their role does not say so."""


class _GrowingScrubber(Scrubber):
    def add(self, name: str, value: str) -> dict[str, str]:
        self.values[name] = value
        self._shown |= (shown := dict.fromkeys(forms(value), placeholder(name)))
        for cached in ("_pattern", "_bytes"):
            self.__dict__.pop(cached, None)
        return shown


class _Machine(Passing):
    masked: Any = None  # what all parts of a run use in its place, once something was typed

    def _passed(self, name: str) -> Any:
        return getattr(self.masked if hasattr(self.masked, name) else self._inner, name)


class TypedSecrets:
    """What persons typed in one run and nobody may read; it is put in nowhere again."""

    machine: Any = None
    """The machine itself, with nothing masked."""

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._log, self._emit = log, emit
        self._scrubber, self._names = _GrowingScrubber({}), dict[str, str]()

    def around(self, environment: Environment) -> Environment:
        """The environment, so that it can be masked later for all who use it."""
        self.machine, self._wrapped = environment, _Machine(environment)
        return self._wrapped  # type: ignore[return-value]

    def hide(self, value: str) -> str:
        """Hide a value everywhere from now on; returns what is written in its place."""
        if value not in self._names:
            name = self._names[value] = f"typed_{len(self._names) + 1}"
            if len(value) >= _LEAST and len({*value}) > 1 and value not in placeholder(name):
                self._log.hide(self._scrubber.add(name, value))
        return placeholder(self._names[value])

    def cover(self, before: Observation, after: Observation) -> None:
        """Mask what came onto the screen between two looks, and its field, in all later looks."""
        from hisa.environments.secret_environment import SecretEnvironment  # few runs need it

        if self._wrapped.masked is None:
            store = SecretStore({})  # nothing can be put in from it
            store.__dict__["scrubber"] = self._scrubber
            masked = SecretEnvironment(self.machine, store, emit=self._emit, live=True)
            self._wrapped.masked = masked
        self._wrapped.masked._mask.typed(before, after)


def kind_of_focus(look: Observation) -> str:
    """Whether what has the focus takes a "password", "plain" text, or something "unknown".

    A terminal is unknown: it asks for passwords too, and has no other role then.
    """
    if any(_takes_secret(e) for e in look.elements or () if "focused" in e.states):
        return "password"
    element = focused_element(look)
    known = element is not None and look.complete and element.role in FIELDS - {"terminal"}
    return "plain" if known else "unknown"


def _takes_secret(element: Element) -> bool:
    words = f"{element.name} {element.label} {element.description}" * (element.role in FIELDS)
    return element.role == PASSWORD or _SECRET_NAME.search(words) is not None


def is_echoed(text: str, before: Observation, after: Observation) -> bool:
    """Whether a text stands on the screen, in words, more often than it did."""
    counts = [sum(e.text.count(text) for e in look.elements or ()) for look in (before, after)]
    return bool(text.strip()) and counts[1] > counts[0]
