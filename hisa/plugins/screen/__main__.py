"""Starts the driver: ``python -m hisa.plugins.screen MONITOR``."""

import sys

from hisa.plugins.screen.driver import main

sys.exit(main())
