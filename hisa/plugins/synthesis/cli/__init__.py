"""``hisa explore`` and ``hisa synth``."""
