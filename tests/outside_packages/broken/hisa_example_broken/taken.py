"""Tries to take the names of HiSA's own parts, which must not work."""

from __future__ import annotations

raise AssertionError("a part of HiSA was looked for in this package")
