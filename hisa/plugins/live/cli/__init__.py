"""The commands of the live page."""
