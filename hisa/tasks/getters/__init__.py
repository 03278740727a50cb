"""Getters of benchmark task files, by name: what the agent left, and what was expected."""

from __future__ import annotations

from hisa.tasks.getters import browser, commands, files, miniwob, screen
from hisa.tasks.getters.base import GETTERS, Getter, getter

__all__ = ["GETTERS", "Getter", "browser", "commands", "files", "getter", "miniwob", "screen"]
