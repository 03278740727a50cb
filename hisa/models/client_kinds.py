"""Planners of ``hisa.planners`` as far as models go: which one a model is asked by."""

from __future__ import annotations

from importlib.metadata import EntryPoint

from hisa.errors import ConfigError
from hisa.machine import plugins
from hisa.models.profile import Profile

__all__ = ["find_kind", "kind_name"]


def kind_name(kind: str, profile: Profile) -> str:
    """The kind of planner that a model is asked as where it plans; "chat" for none of its own."""
    if kind not in ("auto", "chat"):
        return kind
    taken = "computer" if profile.computer else "short" if profile.small else ""
    best = profile.planner or taken
    point = plugins.find("planners", best) if best and kind == "auto" else None
    return "chat" if point is None or plugins.is_left_out(point) else best


def find_kind(kind: str, profile: Profile) -> EntryPoint | None:
    """Returns the entry point of the planner that a model is asked by; None: chat completions.

    Raises:
        ConfigError: the settings name one that nobody announces.
    """
    name = kind_name(kind, profile)
    point = plugins.find("planners", name)
    if point is None and name != "chat":
        names = ", ".join(["auto", "chat", *plugins.announced_names("planners")])
        raise ConfigError(
            f"planner.kind = {name!r}: allowed are {names}", fix="--set planner.kind=auto"
        )
    return None if name == "chat" else point
