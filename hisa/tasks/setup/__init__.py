"""Setup steps of benchmark task files, by name; everything is done through the environment."""

from __future__ import annotations

from hisa.tasks.setup import browser, files, miniwob, programs, windows
from hisa.tasks.setup.base import SETUP, Parameters, Step, step

__all__ = [
    "SETUP",
    "Parameters",
    "Step",
    "browser",
    "files",
    "miniwob",
    "programs",
    "step",
    "windows",
]
