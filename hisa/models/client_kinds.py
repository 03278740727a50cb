"""Chooses the kind of planner in ``hisa.planners`` by which a model is asked."""

from __future__ import annotations

from importlib.metadata import EntryPoint

from hisa.errors import ConfigError
from hisa.machine import plugins
from hisa.models.profile import Profile

__all__ = ["find_kind", "kind_name"]


def kind_name(kind: str, profile: Profile) -> str:
    """Returns the kind of planner by which a model is asked; "chat" if it needs no special one."""
    if kind not in ("auto", "chat"):
        return kind
    taken = "computer" if profile.computer else "short" if profile.small else ""
    best = profile.planner or taken
    point = plugins.find("planners", best) if best and kind == "auto" else None
    return "chat" if point is None or plugins.is_left_out(point) else best


def find_kind(kind: str, profile: Profile) -> EntryPoint | None:
    """Returns the entry point of the planner by which a model is asked; None: chat completions.

    Raises:
        ConfigError: the settings name a kind that no package announces.
    """
    name = kind_name(kind, profile)
    point = plugins.find("planners", name)
    if point is None and name != "chat":
        names = ", ".join(["auto", "chat", *plugins.announced_names("planners")])
        raise ConfigError(
            f"planner.kind = {name!r}: allowed are {names}", fix="--set planner.kind=auto"
        )
    return None if name == "chat" else point
