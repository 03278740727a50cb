"""Private desktops of the machine that HiSA runs on, thrown away after a run."""

from hisa.machine.plugins import Command

__all__ = ["DESKTOP"]

DESKTOP = Command(
    "hisa.plugins.desktop.desktops:desktop", "List and end private desktops.", after="vm"
)
