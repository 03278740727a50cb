"""What each model takes: parameters, structured output, pictures, context and price.

Parameters that a model refuses are left out because its profile says so, never by trial. A
profile is chosen by name or by the model's name; an unknown name gets ``default``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import ConfigError

__all__ = ["BUILT_IN", "Price", "Profile", "find", "load"]


class Price(BaseModel):
    """US dollars per million tokens, and the day of the price list or of the model snapshot."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    date: str = ""
    """ISO date; empty where the price cannot change (a model of one's own)."""

    def usd(self, tokens_in: int, tokens_out: int) -> float:
        """Dollars for so many tokens."""
        return (tokens_in * self.input + tokens_out * self.output) / 1_000_000


class Profile(BaseModel):
    """One family of models."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(min_length=1)
    match: tuple[str, ...] = ()
    """Shell patterns for the model's name in lower case, with or without its "vendor/" part."""
    temperature: bool = True
    """Whether the model takes a temperature."""
    max_tokens_as: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The parameter that limits the answer."""
    reasoning_effort: str = ""
    """Sent as ``reasoning_effort`` where set."""
    structured: Literal["json_schema", "json_object", "none"] = "none"
    """How an answer that must be JSON is asked for, besides the prompt."""
    image_detail: Literal["", "low", "high", "auto"] = ""
    """Detail of pictures; empty: not sent."""
    image_tokens: int = Field(1200, ge=0)
    """Estimate for one 1280x720 picture."""
    context: int | None = Field(None, gt=0)
    """Largest number of tokens in and out together; None: not known."""
    price: Price | None = None
    """None: not known, so a limit in dollars cannot be kept."""
    reads_elements: bool = False
    """Whether the planner gets the elements on the screen as text."""


_PAPER = "2025-08-07"
"""The snapshots priced in HiSA, table 7."""

_REASONING = Profile(
    name="reasoning",
    match=("o1", "o1-*", "o3", "o3-*", "o4-*", "gpt-5*"),
    temperature=False,
    max_tokens_as="max_completion_tokens",
    structured="json_schema",
    image_detail="high",
    context=200_000,
)
_VLLM = Profile(
    name="vllm",
    match=("qwen*", "ui-tars*", "opencua*"),
    structured="json_schema",
    price=Price(input=0, output=0),
)

BUILT_IN: tuple[Profile, ...] = (
    _REASONING.model_copy(
        update={
            "name": "gpt-5",
            "match": ("gpt-5", "gpt-5-20*"),
            "context": 400_000,
            "price": Price(input=1.25, output=10.00, date=_PAPER),
        }
    ),
    _REASONING.model_copy(
        update={
            "name": "gpt-5-mini",
            "match": ("gpt-5-mini", "gpt-5-mini-20*"),
            "context": 400_000,
            "image_tokens": 1500,
            "price": Price(input=0.25, output=2.00, date=_PAPER),
        }
    ),
    Profile(
        name="computer-use-preview",
        match=("computer-use-preview*",),
        temperature=False,
        max_tokens_as="max_completion_tokens",
        image_detail="high",
        price=Price(input=3.00, output=12.00, date="2025-03-11"),
    ),
    Profile(
        name="gpt-4o",
        match=("gpt-4o", "gpt-4o-20*"),
        structured="json_schema",
        image_detail="high",
        context=128_000,
        price=Price(input=2.50, output=10.00, date="2026-03-01"),
    ),
    _REASONING,
    Profile(name="gta1", match=("gta1*",), price=Price(input=0, output=0)),
    _VLLM,
    Profile(
        name="offline",
        match=("offline",),
        image_tokens=0,
        price=Price(input=0, output=0),
        reads_elements=True,
    ),
    Profile(name="local", price=Price(input=0, output=0)),
    Profile(name="default"),
)
"""The first match wins. ``local`` is ``default`` for a server of one's own: it costs nothing."""


def _matches(profile: Profile, model: str) -> bool:
    full = model.lower()
    short = full.rpartition("/")[2]
    return any(fnmatchcase(full, p) or fnmatchcase(short, p) for p in profile.match)


def _by_name(name: str, known: Sequence[Profile]) -> Profile:
    for profile in known:
        if profile.name == name:
            return profile
    names = ", ".join(profile.name for profile in known)
    raise ConfigError(
        f"profile {name!r}: no such profile; known are {names}",
        fix="leave models.ROLE.profile empty, or name a file that ends in .toml",
    )


def find(model: str, explicit: str = "", *, extra: Sequence[Profile] = ()) -> Profile:
    """The profile of a model.

    Args:
        model: the model's name as the server knows it.
        explicit: a profile's name, or a ``.toml`` file of profiles; empty: chosen by ``model``.
        extra: profiles that are looked at before the built-in ones.

    Raises:
        ConfigError: no profile of that name, or a bad file.
    """
    if explicit.endswith(".toml"):
        own = load(Path(explicit))
        if len(own) == 1:
            return own[0]
        return find(model, extra=(*own, *extra))
    known = (*extra, *BUILT_IN)
    if explicit:
        return _by_name(explicit, known)
    chosen = next((profile for profile in known if _matches(profile, model)), None)
    return chosen or _by_name("default", known)


def load(path: Path) -> tuple[Profile, ...]:
    """Profiles from a TOML file: one ``[[profile]]`` table each, keys as in `Profile`.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or holds an unknown key or bad value.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
        return _File.model_validate(tree).profile
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", fix="name an existing file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", fix=f"edit {path}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{path}: {where}: {first['msg']}", fix=f"edit {path}") from error


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    profile: tuple[Profile, ...] = Field(min_length=1)
