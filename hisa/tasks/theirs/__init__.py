"""Metrics of OSWorld's own package, for what has none here: found by name, run apart."""

from __future__ import annotations

from hisa.tasks.theirs.index import PACKAGE, installed, known, lacking, theirs
from hisa.tasks.theirs.run import run

__all__ = ["PACKAGE", "installed", "known", "lacking", "run", "theirs"]
