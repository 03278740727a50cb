"""Models that packages announce, and the attributes of their factories."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.machine import plugins
from hisa.models.profile import Profile

__all__ = ["AnnouncedModel", "find_announced"]


@dataclass(frozen=True)
class AnnouncedModel:
    """Attributes of a factory in ``hisa.models``, all of which are optional.

    A factory announced as ``NAME:`` provides all models whose names begin with that; it may have
    ``profile_of(name)`` instead of ``profile``.
    """

    profile: Profile | None = None
    """What the model takes and costs; None: found by its name, as for any model."""
    by_rules: bool = False
    """Whether it follows rules and sees no pictures. Then grounder and judge do not use it."""
    title: str = ""
    """Its name in outputs; empty: its announced name."""


def find_announced(name: str) -> AnnouncedModel | None:
    """Returns the attributes of a model by name; None if no package announces it.

    Raises:
        PluginFailed: it cannot be imported, or fails; names the package.
    """
    point = plugins.find("models", name)
    if point is None:
        return None
    factory = plugins.load("models", point)
    with plugins.blaming_package("models", point):
        profile_of = getattr(factory, "profile_of", None)
        profile = profile_of(name) if callable(profile_of) else getattr(factory, "profile", None)
    return AnnouncedModel(
        profile if isinstance(profile, Profile) else None,
        by_rules=getattr(factory, "by_rules", False) is True,
        title=str(getattr(factory, "title", name)),
    )
