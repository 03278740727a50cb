"""Metrics of OSWorld's own package: found by name, run in a separate process."""
