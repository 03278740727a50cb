"""What tests with a stock guest share."""

from __future__ import annotations

import shlex
import sys

_POST = """
import sys, urllib.request as u
u.build_opener(u.ProxyHandler(dict())).open(u.Request(sys.argv[1], b""), timeout=60)
"""

REVERT = shlex.join([sys.executable, "-c", _POST, "{url}/fake/restore"])
"""Brings a `StockGuest` back to its initial state."""
