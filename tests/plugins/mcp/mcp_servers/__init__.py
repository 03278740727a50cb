"""Servers of tools that do what servers should not."""
