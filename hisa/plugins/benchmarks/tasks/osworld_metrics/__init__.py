"""Metrics of OSWorld's own package: found by name, run apart."""
