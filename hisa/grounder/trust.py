"""Types for the trust in a model's picks from a list, and the key of its measurements."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from hisa.config import ModelSettings
from hisa.models.profile import Profile
from hisa.screen.geometry import Size

__all__ = ["PICKS_RIGHT", "POINTS_RIGHT", "Ask", "Key", "Trust", "key_of"]

PICKS_RIGHT = 0.9
"""The probability that a strong model picks the target from a list."""
POINTS_RIGHT = 0.85
"""The probability that a model points at the target; slightly below that of good models."""
Ask = Callable[[str, Sequence[str], Size], Awaitable[tuple[int, str]]]
"""Has a model pick one of the elements, which are given in words, by a description, on a picture
of that size. Returns a number, 0 for none, and the reason if the answer is not valid."""
Key = tuple[str, str, str]
"""A model's name, the address of its server, and the name of its profile."""


@dataclass(frozen=True)
class Trust:
    """The probability that a model is right, None if it should not be asked, and its source."""

    right: float | None
    words: str = ""


def key_of(model: str, settings: ModelSettings, profile: Profile | None) -> Key:
    """Returns the key under which a model's measured accuracy is stored.

    Args:
        model: the model's name.
        settings: for the address of its server.
        profile: for its name; None: no profile.
    """
    address = str(settings.base_url) or os.environ.get("OPENAI_BASE_URL", "")
    return model, address, profile.name if profile else ""
