"""Runs a command where a stand-in serves models at the address that the documentation names.

``python -m tests.stand_in COMMAND...`` in a network namespace of its own: there the port is free
whatever this machine serves, and nothing else can be reached.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import subprocess
import sys

from hisa.testing.model_server import FakeServer, ReceivedRequest
from tests.never_ending import never_terminate

PORT = 8000


def loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", 0x1))


def answer(received: ReceivedRequest) -> str:
    """Valid answers of every role; the planner looks once and ends."""
    if received.role == "planner" and received.step >= 2:
        return json.dumps(
            {
                "thought": "It is sorted.",
                "tool": "termination",
                "input": "sorted",
                "description": "",
            }
        )
    return never_terminate(received.job, received.step, received.text_by("user"))


def main(command: list[str]) -> int:
    loopback_up()
    with FakeServer(then=answer, port=PORT) as server:
        code = subprocess.run(command, check=False).returncode
        for request in server.requests:
            assert request.path == "/v1/chat/completions"
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
