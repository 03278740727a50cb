"""The commands that install what scoring needs and HiSA does not bring."""

from __future__ import annotations

from hisa.parts import install_command

__all__ = ["TASKS_EXTRA"]

TASKS_EXTRA = install_command("tasks")
"""Adds the readers of workbooks, documents, presentations, notebooks and databases."""
