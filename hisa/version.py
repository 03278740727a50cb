"""The version, from which the package is built."""

__version__ = "0.1.0"
