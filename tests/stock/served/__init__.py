"""The published OSWorld server's routes, written anew for Debian's Python alone.

This folder is copied into a private desktop and served there, and knows nothing of its clients.
"""
