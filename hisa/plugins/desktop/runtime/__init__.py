"""Starts a machine: a private desktop in its own namespaces, found again by its handle."""

from hisa.plugins.desktop.runtime.desktop import DesktopRuntime
from hisa.plugins.desktop.runtime.state import Handle, list_desktops, reap

__all__ = ["DesktopRuntime", "Handle", "list_desktops", "reap"]
