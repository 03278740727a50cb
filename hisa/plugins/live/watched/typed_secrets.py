"""Hides what a person types into password fields: from the log, the models, and all later looks.

Until something was typed that must be hidden, the machine is used as it is.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast

from hisa.environments.secret_environment import SecretEnvironment
from hisa.environments.secret_pictures import all_focused
from hisa.environments.secret_store import SecretStore
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
    r"passw|passphrase|passcode|passwort|kennwort|contraseña|mot de passe|\bpin\b|secret"
    r"|one.time|\b[2m]fa\b|\botp\b|verification code|security code|\bcvc\b|\bcvv\b|api.?key|token",
    re.IGNORECASE,
)
"""Names of fields that take secrets although their role does not say so."""


class _GrowingScrubber(Scrubber):
    """A scrubber that learns values while it is used."""

    def add(self, name: str, value: str) -> dict[str, str]:
        """Learn a value; returns what is shown in place of each of its forms."""
        shown = {form: placeholder(name) for form in forms(value)}
        self.values[name] = value
        self._shown.update(shown)
        for cached in ("_pattern", "_bytes"):
            self.__dict__.pop(cached, None)
        return shown


class _TypedStore(SecretStore):
    """A store that has no secret to put in: nobody types again what a person typed."""

    @cached_property
    def scrubber(self) -> _GrowingScrubber:
        """Knows the values that were typed."""
        return _GrowingScrubber({})


class _MaskedEnvironment(SecretEnvironment):
    """An environment in which what a person typed is masked."""

    def cover(self, before: Observation, after: Observation) -> None:
        """Mask from now on what came onto the screen between two looks, and its field."""
        self._mask.typed(before, after)


class _Machine:
    """The machine as all parts of a run see it: itself, or masked once that is needed."""

    def __init__(self, inner: Environment) -> None:
        self._inner: Any = inner
        self.masked: _MaskedEnvironment | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> _Machine:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._inner.__aexit__(*exc)


class TypedSecrets:
    """What persons typed in one run and nobody may see.

    Args:
        log: the run's, from which values are kept.
        emit: takes notes on pictures that could not be searched.
    """

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._log, self._emit = log, emit
        self._store = _TypedStore({})
        self._machine: _Machine | None = None
        self._count = 0

    def around(self, environment: Environment) -> Environment:
        """The environment, so that it can be masked later for all who use it."""
        kind = _switching(environment)
        self._machine = kind(environment)
        return cast(Environment, self._machine)

    def name_of(self, value: str) -> str:
        """Hide a value everywhere from now on; returns what is written in its place."""
        known = self._store.scrubber.values
        for name, earlier in known.items():
            if earlier == value:
                return placeholder(name)
        self._count += 1
        name = f"typed_{self._count}"
        hidable = len(value) >= _LEAST and len(set(value)) > 1
        if hidable and value not in placeholder(name):
            self._log.hide(self._store.scrubber.add(name, value))
        return placeholder(name)

    def cover(self, before: Observation, after: Observation) -> None:
        """Mask what came onto the screen between two looks, now and in all later looks."""
        machine = self._machine
        if machine is None:
            return
        if machine.masked is None:
            masked = _MaskedEnvironment(machine._inner, self._store, emit=self._emit, live=True)
            machine.masked = masked
        machine.masked.cover(before, after)


def _switching(inner: Environment) -> type[_Machine]:
    """A class that has what the inner one's has, taken from the masked one where there is one."""

    def switched(name: str) -> property:
        def get(self: _Machine) -> Any:
            of = self.masked if hasattr(self.masked, name) else self._inner
            return getattr(of, name)

        return property(get)

    names = {name for name in dir(type(inner)) if name[0] != "_"}
    return type("_Machine", (_Machine,), {name: switched(name) for name in names})


def kind_of_focus(look: Observation) -> str:
    """Whether what has the focus takes a "password", "plain" text, or something "unknown".

    A terminal is unknown: it may ask for a password, and shows no role for it.
    """
    element = focused_element(look)
    focused = [*all_focused(look), *([element] if element is not None else [])]
    if any(map(_takes_secret, focused)):
        return "password"
    known = element is not None and look.complete and element.role in FIELDS - {"terminal"}
    return "plain" if known else "unknown"


def _takes_secret(element: Element) -> bool:
    words = f"{element.name} {element.label} {element.description}"
    return element.role == PASSWORD or (
        element.role in FIELDS and _SECRET_NAME.search(words) is not None
    )


def is_echoed(text: str, before: Observation, after: Observation) -> bool:
    """Whether a text stands on the screen, in words, once more than it did."""
    counts = [sum(e.text.count(text) for e in look.elements or ()) for look in (before, after)]
    return bool(text.strip()) and counts[1] > counts[0]
