"""The families of models that are known by name, read from ``families.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hisa.models.profile import Profile

__all__ = ["BUILT_IN", "REFERENCE"]


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
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
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
