"""Connects to guests at an address, including stock OSWorld ones; leases and reverts them."""
