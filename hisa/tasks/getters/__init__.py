"""Getters of benchmark task files, by name: what the agent left, and what was expected."""

from __future__ import annotations

from hisa.tasks.getters import (
    address,
    browser,
    commands,
    files,
    miniwob,
    programs,
    records,
    screen,
    slides,
)
from hisa.tasks.getters.base import GETTERS, Getter, getter

__all__ = [
    "GETTERS",
    "Getter",
    "address",
    "browser",
    "commands",
    "files",
    "getter",
    "miniwob",
    "programs",
    "records",
    "screen",
    "slides",
]
