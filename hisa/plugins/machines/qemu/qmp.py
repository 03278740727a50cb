"""Sends commands to a running QEMU over its QMP socket."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline, patience

__all__ = ["Qmp", "connect_unix"]

_POLL_SECONDS = 0.01  # chosen by hand
_ANSWER_SECONDS = 60.0  # chosen by hand


def connect_unix(path: Path, seconds: float = _ANSWER_SECONDS) -> socket.socket:
    """Connects to a unix socket, however long the path of its folder is.

    Raises:
        OSError: nobody listens there.
    """
    where = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(patience(seconds))
    try:
        connection.connect(f"/proc/self/fd/{where}/{path.name}")
    except OSError:
        connection.close()
        raise
    finally:
        os.close(where)
    return connection


class Qmp:
    """A QMP connection; QEMU serves one at a time, so close it soon.

    Args:
        path: QEMU's socket.

    Raises:
        EnvironmentFailed: QEMU does not answer.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._socket = connect_unix(path)
            self._lines = self._socket.makefile("rb")
            self._lines.readline()
        except OSError as error:
            raise self._build_failure(error) from error
        self.execute("qmp_capabilities")

    def __enter__(self) -> Qmp:
        """Itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the connection."""
        self._lines.close()
        self._socket.close()

    def execute(self, command: str, **arguments: Any) -> Any:
        """Runs one command and returns its result; drops events that arrive in between.

        Raises:
            EnvironmentFailed: QEMU refuses the command, or is gone.
        """
        text = json.dumps({"execute": command, "arguments": arguments})
        try:
            self._socket.sendall(text.encode() + b"\n")
            while line := self._lines.readline():
                answer = json.loads(line)
                if "return" in answer:
                    return answer["return"]
                if "error" in answer:
                    raise EnvironmentFailed(f"QEMU refuses {command}: {answer['error']['desc']}")
        except (OSError, ValueError) as error:
            raise self._build_failure(error) from error
        raise self._build_failure("it closed the connection")

    def monitor(self, line: str) -> str:
        """Runs a line in QEMU's human monitor; returns its output."""
        return str(self.execute("human-monitor-command", **{"command-line": line}))

    def await_migration(self, seconds: float = _ANSWER_SECONDS) -> None:
        """Waits until the running migration is done.

        Raises:
            EnvironmentFailed: it failed, or took too long.
        """
        deadline = Deadline(seconds)
        while not deadline.passed:
            status = self.execute("query-migrate")
            match status.get("status"):
                case "completed":
                    return
                case "failed" | "cancelled":
                    why = status.get("error-desc", "no reason given")
                    raise EnvironmentFailed(f"saving or loading the machine's state failed: {why}")
            time.sleep(_POLL_SECONDS)
        raise EnvironmentFailed(f"saving or loading the state took over {deadline.waited:.0f} s")

    def _build_failure(self, why: object) -> EnvironmentFailed:
        return EnvironmentFailed(f"QEMU at {self._path} does not answer: {why}", fix="hisa vm ls")
