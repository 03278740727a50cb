"""Which profile a model has: parameters, structured output, pictures, context and price.

Parameters that a model refuses are left out because its profile says so, never by trial. A
profile is chosen by name or by the model's name; an unknown name gets ``default``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import ConfigError
from hisa.models.announced import announced
from hisa.models.families import BUILT_IN
from hisa.models.profile import Price, Profile
from hisa.text.validation import explain

__all__ = ["BUILT_IN", "Price", "Profile", "find", "load"]


def _matches(profile: Profile, model: str) -> bool:
    full = model.lower()
    short = full.rpartition("/")[2]
    return any(fnmatchcase(full, p) or fnmatchcase(short, p) for p in profile.match)


def _by_name(name: str, known: Sequence[Profile]) -> Profile:
    for profile in known:
        if profile.name == name:
            return profile
    brought = announced(name)
    if brought and brought.profile and brought.profile.name == name:
        return brought.profile
    names = ", ".join(profile.name for profile in known)
    raise ConfigError(
        f"profile {name!r}: no such profile; known are {names}",
        fix="leave models.ROLE.profile empty, or name a file that ends in .toml",
    )


def find(model: str, explicit: str = "", *, extra: Sequence[Profile] = ()) -> Profile:
    """The profile of a model.

    Args:
        model: the model's name as the server knows it.
        explicit: a profile's name, or a ``.toml`` file of profiles; empty: chosen by ``model``. One
            of a server goes before what is chosen so.
        extra: profiles that are looked at before the built-in ones, and before that which the
            model's package brings.

    Raises:
        ConfigError: no profile of that name, or a bad file.
        PluginFailed: the package that has the model fails.
    """
    if explicit.endswith(".toml"):
        own = load(Path(explicit))
        if len(own) == 1:
            return own[0]
        return find(model, extra=(*own, *extra))
    known = (*extra, *BUILT_IN)
    if explicit:
        named = _by_name(explicit, known)
        if not named.server:
            return named
        fields = {field: getattr(named, field) for field in named.model_fields_set}
        return find(model, extra=extra).model_copy(update=fields)
    chosen = next((profile for profile in extra if _matches(profile, model)), None)
    brought = None if chosen else announced(model)
    chosen = chosen or (brought.profile if brought else None)
    chosen = chosen or next((profile for profile in BUILT_IN if _matches(profile, model)), None)
    return chosen or _by_name("default", known)


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
