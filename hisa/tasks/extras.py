"""The commands that install what scoring needs and HiSA does not bring."""

from __future__ import annotations

__all__ = ["TASKS_EXTRA"]

TASKS_EXTRA = "pip install 'hisa-agent[tasks]'"
"""Adds the readers of workbooks, documents, presentations, notebooks and databases."""
