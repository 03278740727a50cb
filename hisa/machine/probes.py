"""The result of looking for something on this machine or at an address."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Probe"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that was looked for, and whether it is there."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    """The command that helps if it is not there."""
    needed: bool = True
    """Whether the caller cannot do without it."""
