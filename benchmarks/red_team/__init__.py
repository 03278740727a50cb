"""Timed variants: what acts meet where the screen changes under them, and where it only lives."""
