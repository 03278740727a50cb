"""``python -m hisa`` is the same as ``hisa``."""

from hisa.cli import main

main()
