"""Guests at an address, stock ones of OSWorld too: reached, leased, reverted."""
