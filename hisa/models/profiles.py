"""Finds a model's profile: parameters, structured output, pictures, context and price.

Parameters that a model refuses are omitted because its profile says so, never by trial. A profile
is chosen by its own name or by the model's name; an unknown model gets ``default``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import ConfigError
from hisa.models.announced_model import find_announced
from hisa.models.profile import Price, Profile
from hisa.text.validation import explain

__all__ = ["BUILT_IN", "REFERENCE", "Price", "Profile", "find", "load"]


def _profile(table: dict[str, Any], tree: dict[str, Any]) -> Profile:
    fields = tree["base"].get(table.pop("like", ""), {}) | table
    if "match" in fields:
        fields["match"] = [
            pattern.replace("{size}", size)
            for pattern in fields["match"]
            for size in (tree["sizes"] if "{size}" in pattern else ("",))
        ]
    return Profile.model_validate(fields)


def _read() -> tuple[Profile, ...]:
    text = Path(__file__).with_name("families.toml").read_text(encoding="utf-8")
    tree = tomllib.loads(text)
    return tuple(_profile(table, tree) for table in tree["profile"])


BUILT_IN = _read()
"""The first match wins. ``local`` is ``default`` for your own server: it costs nothing."""

REFERENCE = max(
    (profile for profile in BUILT_IN if profile.price is not None),
    key=lambda profile: 0.0 if profile.price is None else profile.price.output,
)
"""The most expensive family with a known price (o1). A limit in dollars counts tokens of unknown
price at this price, so that a run ends too early rather than too late."""


def _matches(profile: Profile, model: str) -> bool:
    full = model.lower()
    short = full.rpartition("/")[2]
    return any(fnmatchcase(full, p) or fnmatchcase(short, p) for p in profile.match)


def _by_name(name: str) -> Profile:
    for profile in BUILT_IN:
        if profile.name == name:
            return profile
    announced_model = find_announced(name)
    if announced_model and announced_model.profile and announced_model.profile.name == name:
        return announced_model.profile
    names = ", ".join(profile.name for profile in BUILT_IN)
    raise ConfigError(
        f"no profile {name!r}; known profiles: {names}",
        fix="leave models.ROLE.profile empty, or name a .toml file",
    )


def _of_model(model: str, own: Sequence[Profile]) -> Profile:
    """Returns the first match: the user's, then that of the model's package, then a built-in."""
    match = next((profile for profile in own if _matches(profile, model)), None)
    announced_model = None if match else find_announced(model)
    match = match or (announced_model.profile if announced_model else None)
    match = match or next((profile for profile in BUILT_IN if _matches(profile, model)), None)
    return match or _by_name("default")


def find(model: str, explicit: str = "") -> Profile:
    """Returns the profile of a model.

    Args:
        model: the model's name as the server knows it.
        explicit: a profile's name, or a ``.toml`` file of profiles; empty: chosen by ``model``. The
            profile of a server only overrides fields of the one chosen by ``model``.

    Raises:
        ConfigError: there is no profile of that name, or the file is bad.
        PluginFailed: the package of the model fails.
    """
    if explicit.endswith(".toml"):
        own = load(Path(explicit))
        return own[0] if len(own) == 1 else _of_model(model, own)
    if not explicit:
        return _of_model(model, ())
    named = _by_name(explicit)
    if not named.server:
        return named
    fields = {field: getattr(named, field) for field in named.model_fields_set}
    return _of_model(model, ()).model_copy(update=fields)


def load(path: Path) -> tuple[Profile, ...]:
    """Read profiles from a TOML file: one ``[[profile]]`` table each, keys as in `Profile`.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or has an unknown key or a bad value.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return _File.model_validate(tomllib.loads(text)).profile
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", fix="name an existing file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", fix=f"edit {path}") from error
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, _File)}", fix=f"edit {path}") from error


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    profile: tuple[Profile, ...] = Field(min_length=1)
