"""Loads the secrets of a run: their names, their values, and where each may go."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from hisa.config import SecretSettings
from hisa.errors import ActionRefused, ConfigError
from hisa.text.redact.named_secrets import NAME, PLACEHOLDER, Scrubber, placeholder

__all__ = ["Secret", "SecretStore", "fits", "load_secrets"]

_LEAST = 4
"""Characters of the shortest value: a shorter one occurs in too many texts and numbers to be
replaced in them."""
_MOST = 10_000
"""Characters of the longest value; a private key has about 3,000."""


@dataclass(frozen=True)
class Secret:
    """A secret: its value, and patterns for where it may go; see `SecretSettings`."""

    name: str
    value: str
    apps: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Leaves the value out: it would appear in the trace of a failed test or a defect."""
        return f"Secret({self.name!r})"


@dataclass(frozen=True)
class SecretStore:
    """All secrets of a run, by name."""

    secrets: Mapping[str, Secret]

    @cached_property
    def scrubber(self) -> Scrubber:
        """The scrubber that puts names in place of values."""
        return Scrubber({name: secret.value for name, secret in self.secrets.items()})

    def named_in(self, text: str) -> list[Secret]:
        """Returns the secrets that a text names, in order, each once.

        Raises:
            ActionRefused: it names a secret that does not exist.
        """
        return [self.get(name) for name in dict.fromkeys(PLACEHOLDER.findall(text))]

    def get(self, name: str) -> Secret:
        """Returns the secret of that name.

        Raises:
            ActionRefused: there is none; the message names the known ones.
        """
        if name not in self.secrets:
            known = ", ".join(map(placeholder, sorted(self.secrets))) or "there are none"
            raise ActionRefused(f"{placeholder(name)}: no such secret; known are: {known}")
        return self.secrets[name]


def load_secrets(
    settings: Mapping[str, SecretSettings], environ: Mapping[str, str] | None = None
) -> SecretStore:
    """Returns the secrets of the settings, with their values.

    Args:
        settings: the sections of the settings, by the names of the secrets.
        environ: the environment variables; None for those of this process.

    Raises:
        ConfigError: a name or value cannot be used, or a value is missing.
    """
    known = os.environ if environ is None else environ
    secrets = {
        name: _secret(name, secret_settings, known) for name, secret_settings in settings.items()
    }
    values = {name: secret.value for name, secret in secrets.items()}
    for name, value in values.items():
        _check(name, value, values)
    return SecretStore(secrets)


def _secret(name: str, settings: SecretSettings, environ: Mapping[str, str]) -> Secret:
    if not re.fullmatch(NAME, name):
        raise ConfigError(
            f"secrets.{name}: a secret's name is a letter followed by letters, digits, . _ or -",
            fix="call it secrets.mail, for example",
        )
    value = environ.get(settings.env, "")
    if not value:
        raise ConfigError(
            f"secrets.{name}: the variable {settings.env} is not set, or is empty",
            fix=f"read -rs {settings.env} && export {settings.env}",
        )
    return Secret(name, value, settings.apps, settings.sites, settings.commands)


def _check(name: str, value: str, values: Mapping[str, str]) -> None:
    """Refuse a value that cannot be hidden, or cannot be told from its own name.

    Raises:
        ConfigError: it is such a value, which the message does not contain.
    """
    wrong = ""
    if len(value) < _LEAST or len(set(value)) == 1:
        wrong = f"it has fewer than {_LEAST} characters, or repeats one, and cannot be hidden"
    elif len(value) > _MOST:
        wrong = f"it has more than {_MOST} characters"
    elif "\0" in value or not (value.isprintable() or _is_lines(value)):
        wrong = "it has characters that nobody can type, other than line breaks and tabs"
    elif any(value in placeholder(other_name) for other_name in values):
        wrong = "it is part of the name that replaces a secret"
    elif PLACEHOLDER.search(value):
        wrong = "it names a secret"
    elif any(value == other for other_name, other in values.items() if other_name != name):
        wrong = "another secret has the same value"
    if wrong:
        raise ConfigError(
            f"secrets.{name}: the value cannot be used: {wrong}",
            fix=f"give secrets.{name} another value",
        )


def _is_lines(value: str) -> bool:
    return all(line.isprintable() for line in re.split(r"[\r\n\t]", value))


def fits(text: str, patterns: Iterable[str]) -> bool:
    """Whether a text matches one of the patterns, whatever its case."""
    return any(fnmatchcase(text.lower(), pattern.lower()) for pattern in patterns)
