"""Finds the target of a description: reads the description, and rates everything on the screen."""
