"""A desktop of the machine that HiSA runs on: private and thrown away, or a display that exists."""

from hisa.machine.plugins import Command

__all__ = ["DESKTOP"]

DESKTOP = Command(
    "hisa.plugins.desktop.desktops:desktop", "List and end private desktops.", after="vm"
)
