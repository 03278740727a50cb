"""Skips what needs the pages of MiniWoB++ where they are not installed."""

from __future__ import annotations

import importlib.util

import pytest

from hisa.machine.parts import install_command

needs_pages = pytest.mark.skipif(
    importlib.util.find_spec("miniwob") is None,
    reason=f"needs the pages of MiniWoB++: {install_command('miniwob')}",
)
