"""The result of checking for a part on this machine or at an address."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Probe"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One part that was checked for, and whether it is available."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    """The command that helps if it is not available."""
    needed: bool = True
    """Whether the caller requires it."""
