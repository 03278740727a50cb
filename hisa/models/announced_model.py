"""Models that packages announce, and the attributes they bring."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.machine import plugins
from hisa.models.profile import Profile

__all__ = ["AnnouncedModel", "find_announced"]


@dataclass(frozen=True)
class AnnouncedModel:
    """Attributes of a factory in ``hisa.models``, all of which it may leave out.

    One that is announced as ``NAME:`` has all models whose names begin so; it may bring
    ``profile_of(name)`` in place of ``profile``.
    """

    profile: Profile | None = None
    """Of what the model takes and costs; None: found by its name, as that of any model."""
    by_rules: bool = False
    """Whether it follows rules and sees no pictures. Then no grounder and no judge follow it."""
    title: str = ""
    """Its name in outputs; empty: the name that it is announced by."""


def find_announced(name: str) -> AnnouncedModel | None:
    """Returns the attributes of the model of a name; None where no package announces it.

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
