"""Starts the guest: ``python3 -m guest``, in a new desktop or on an existing display.

The first line of standard input is the token that every request must have.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys

from .confinement import Limits, confine, own_keyring
from .session import APPLICATION_ENVIRONMENT, Session

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="guest", description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--session", metavar="WxH", help="start a desktop of this size first")
    where.add_argument("--display", metavar=":N", help="use this display")
    parser.add_argument(
        "--fd", type=int, required=True, help="descriptor of an inherited listening socket"
    )
    parser.add_argument("--ready", type=int, help="descriptor on which to report readiness")
    parser.add_argument("--idle", type=float, default=0.0, help="end after idle seconds; 0: no")
    parser.add_argument("--parent", action="store_true", help="end when the parent ends")
    parser.add_argument("--limits", type=Limits.parse, help="PROCESSES,MEMORY_MB,OPEN_FILES")
    parser.add_argument("--cage", default="", help="sandbox commands; only this folder is writable")
    return parser.parse_args()


def main() -> int:
    """Starts the guest, reports that it is ready, and serves until stopped or idle too long."""
    arguments = _arguments()
    if arguments.parent:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    token = sys.stdin.readline().strip()
    if not token:
        sys.stderr.write("no token on standard input\n")
        return 2
    if arguments.session and arguments.limits is not None:
        confine(arguments.limits)
    if arguments.session:
        session = Session(*map(int, arguments.session.split("x")))
        session.begin()
        from .guest_service import serve  # slow, so it is imported while the X server starts

        session.complete()
    else:
        own_keyring()
        os.environ.update({**APPLICATION_ENVIRONMENT, "DISPLAY": arguments.display})
        from .guest_service import serve
    serve(arguments, token)
    return 0


if __name__ == "__main__":
    sys.exit(main())
