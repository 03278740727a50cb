"""HiSA: agents that operate a computer through its screen."""

__version__ = "0.1.0"
__all__ = ["__version__"]
