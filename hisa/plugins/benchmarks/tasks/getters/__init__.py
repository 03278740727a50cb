"""Getters of benchmark task files, by name: what the agent left, and what was expected."""

from __future__ import annotations

from hisa.plugins.benchmarks.tasks.getters import (  # noqa: F401 - each makes its getters known
    address_bar,
    chrome_state,
    element_markup,
    file_getters,
    machine_state,
    page_parts,
    relative_time,
)
from hisa.plugins.gym import gym_format  # noqa: F401 - makes its steps and getters known
from hisa.tasks.pieces import GETTERS

__all__ = ["GETTERS"]
