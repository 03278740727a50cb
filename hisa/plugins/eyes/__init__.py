"""Reads the screen with models of its own: controls, text and icons."""
