"""Runs ``hisa`` for the live page, and ends with whoever holds the other end of standard input.

The server holds it, and writes nothing: its end, by kill -9 too, is Ctrl-C for the run.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

_GRACE = 20.0
"""Seconds that a run has to end as stopped; chosen by hand."""


def _end_with_input(descriptor: int) -> None:
    while os.read(descriptor, 1024):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a server in the background ignores it
    line = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nothing that the run starts takes what it holds
    threading.Thread(target=_end_with_input, args=(line,), daemon=True).start()
    from hisa.cli import main

    main(sys.argv[1:])
