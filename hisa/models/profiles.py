"""Which profile a model has: parameters, structured output, pictures, context and price.

Parameters that a model refuses are left out because its profile says so, never by trial. A
profile is chosen by name or by the model's name; an unknown name gets ``default``.
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
"""The first match wins. ``local`` is ``default`` for a server of one's own: it costs nothing."""

REFERENCE = max(
    (profile for profile in BUILT_IN if profile.price is not None),
    key=lambda profile: 0.0 if profile.price is None else profile.price.output,
)
"""The dearest family with a known price (o1): what a limit in dollars counts a token at where the
price of a model is not known, so that it is rather too early than too late."""


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
        f"profile {name!r}: no such profile; known are {names}",
        fix="leave models.ROLE.profile empty, or name a file that ends in .toml",
    )


def _of_model(model: str, own: Sequence[Profile]) -> Profile:
    """Returns the first that matches: the user's, then the model's package's, then the rest."""
    match = next((profile for profile in own if _matches(profile, model)), None)
    announced_model = None if match else find_announced(model)
    match = match or (announced_model.profile if announced_model else None)
    match = match or next((profile for profile in BUILT_IN if _matches(profile, model)), None)
    return match or _by_name("default")


def find(model: str, explicit: str = "") -> Profile:
    """The profile of a model.

    Args:
        model: the model's name as the server knows it.
        explicit: a profile's name, or a ``.toml`` file of profiles; empty: chosen by ``model``. One
            of a server goes before what is chosen so.

    Raises:
        ConfigError: no profile of that name, or a bad file.
        PluginFailed: the package that has the model fails.
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
    """Profiles from a TOML file: one ``[[profile]]`` table each, keys as in `Profile`.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or holds an unknown key or bad value.
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
