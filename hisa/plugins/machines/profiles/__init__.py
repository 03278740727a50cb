"""Builds systems with applications from Debian's packages, for private desktops and for QEMU."""
