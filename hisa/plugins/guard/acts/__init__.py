"""Holds every act of a run to the look that it was decided on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hisa.plugins.guard.acts.held_acts import HeldActs
    from hisa.wiring.base import HookParts

__all__ = ["open_held_acts"]


def open_held_acts(parts: HookParts) -> HeldActs | None:
    """Returns the guard of a run's acts; None if ``planner.guards`` is off."""
    if not parts.settings.planner.guards:
        return None
    from hisa.plugins.guard.acts.held_acts import HeldActs  # as heavy as Pillow

    return HeldActs(emit=parts.emit, settle=parts.settings.environment.settle)
