"""What was looked for on this machine, or at an address, and whether it is there."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Probe"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that was looked for; ``needed`` where what asks cannot do without it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    """The command that helps where it is not there."""
    needed: bool = True
