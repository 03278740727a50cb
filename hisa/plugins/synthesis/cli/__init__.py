"""The commands ``hisa explore``, ``hisa synth`` and ``hisa data``."""
