"""Starts private desktops in their own namespaces, and finds them again by their handles."""

from hisa.plugins.desktop.runtime.desktop import DesktopRuntime
from hisa.plugins.desktop.runtime.state import Handle, list_desktops, reap

__all__ = ["DesktopRuntime", "Handle", "list_desktops", "reap"]
