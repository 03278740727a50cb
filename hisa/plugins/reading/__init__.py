"""Reads what is drawn on the screen, and has learned from screens which thing is meant."""
