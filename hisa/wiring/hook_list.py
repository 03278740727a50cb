"""The hooks of a run that packages announce, and the order of all of them."""

from __future__ import annotations

from collections.abc import Iterable

from hisa.errors import PluginFailed
from hisa.events import Noted
from hisa.hooks import Hook, name_of
from hisa.machine import plugins
from hisa.wiring.base import HookParts

__all__ = ["in_order", "open_hooks"]

_LAST = ("repeats", "results", "program", "memo", "held_acts", "policy", "confirm", "live")
"""HiSA's own, in their order; all others come before them."""


def in_order(hooks: Iterable[Hook]) -> list[Hook]:
    """Returns hooks in the order in which they are called."""

    def place(hook: Hook) -> int:
        name = name_of(hook)
        return _LAST.index(name) if name in _LAST else -1

    return sorted(hooks, key=place)


def open_hooks(parts: HookParts) -> list[Hook]:
    """The announced hooks that the settings of a run ask for; a failure is a note."""
    hooks: list[Hook] = []
    for point in plugins.points("hooks"):
        if plugins.is_left_out(point):
            continue
        try:
            hook = plugins.make("hooks", point.name, parts)
        except PluginFailed as error:
            parts.emit(Noted(where="hooks", text=str(error)))
            continue
        if hook is not None:
            hooks.append(hook)
    return hooks
