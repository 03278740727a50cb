"""Desktops of the machine that HiSA runs on: private ones, thrown away, or an existing display."""

from hisa.machine.plugins import Command

__all__ = ["DESKTOP"]

DESKTOP = Command(
    "hisa.plugins.desktop.desktops:desktop", "List and end private desktops.", after="vm"
)
