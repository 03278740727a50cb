"""Finds what is described in words: reads the description, and weighs everything on the screen."""
