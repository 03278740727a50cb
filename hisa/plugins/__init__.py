"""Packages that a reader may skip; each enters by the doors that a stranger's package uses."""
