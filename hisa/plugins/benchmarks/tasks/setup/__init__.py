"""Setup steps of benchmark task files, by name; everything is done through the environment."""

from __future__ import annotations

from hisa.plugins.benchmarks.tasks.setup import (  # noqa: F401 - each makes its steps known
    chrome_steps,
    proxy_step,
    put_files,
    start_programs,
    web_services,
    window_steps,
)
from hisa.plugins.gym import gym_format  # noqa: F401 - makes its steps and getters known
from hisa.tasks.pieces import SETUP

__all__ = ["SETUP"]
