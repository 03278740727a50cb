"""Models that packages announce, and the attributes they bring."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.machine import plugins
from hisa.models.profile import Profile

__all__ = ["Announced", "announced"]


@dataclass(frozen=True)
class Announced:
    """Attributes of a factory in ``hisa.models``, all of which it may leave out."""

    profile: Profile | None = None
    """Of what the model takes and costs; None: found by its name, as that of any model."""
    by_rules: bool = False
    """Whether it follows rules and sees no pictures. Then no grounder and no judge follow it, and
    the state manager gets the words on a picture as text."""
    title: str = ""
    """Its name in outputs; empty: the name that it is announced by."""


def announced(name: str) -> Announced | None:
    """Returns the attributes of the model of a name; None where no package announces it.

    Raises:
        PluginFailed: it cannot be imported; names the package.
    """
    point = plugins.find("models", name)
    if point is None:
        return None
    factory = plugins.load("models", point)
    profile = getattr(factory, "profile", None)
    return Announced(
        profile if isinstance(profile, Profile) else None,
        by_rules=getattr(factory, "by_rules", False) is True,
        title=str(getattr(factory, "title", name)),
    )
