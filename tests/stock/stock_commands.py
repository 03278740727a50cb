"""The published server's routes that run commands.

Each reads both pipes of its command to their end: a program that stays in the background with one
of them open holds the request until the time limit.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tests.stock.stock_messages import Reply, Request, Routes, json_reply, text_reply

__all__ = ["CommandRoutes", "Wrap"]

Wrap = Callable[[Sequence[str]], Sequence[str]]
"""Makes the command line that is run from the one that was asked for."""


class CommandRoutes:
    """Commands, run for real.

    Args:
        seconds: the longest that a command of `/execute` may take; 120 in the published server.
        wrap: put around each command line, such as a namespace of its own.
    """

    def __init__(self, seconds: float = 120.0, wrap: Wrap = list) -> None:
        self._seconds = seconds
        self._wrap = wrap

    def routes(self) -> Routes:
        """By method and path."""
        return {
            ("POST", "/execute"): self._execute,
            ("POST", "/setup/execute"): self._execute,
            ("POST", "/setup/launch"): self._launch,
        }

    def _run(
        self, words: Sequence[str], seconds: float, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        wrapped = list(self._wrap(words))
        try:
            return subprocess.run(wrapped, text=True, timeout=seconds, check=False, **pipes)
        except subprocess.TimeoutExpired as error:
            raise subprocess.TimeoutExpired(list(words), error.timeout) from error

    def _execute(self, request: Request) -> Reply:
        """Output that is not UTF-8 is an error, as a missing program is."""
        try:
            result = self._run(_words(request.json()), self._seconds)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return json_reply({"status": "error", "message": str(error)}, 500)
        fields = {"output": result.stdout, "error": result.stderr, "returncode": result.returncode}
        return json_reply({"status": "success", **fields})

    def _launch(self, request: Request) -> Reply:
        body = request.json()
        try:
            words = _words(body)
            process = subprocess.Popen(list(self._wrap(words)))
            threading.Thread(target=process.wait, daemon=True).start()  # nobody else waits for it
        except (OSError, ValueError) as error:
            return json_reply({"status": "error", "message": str(error)}, 500)
        command = body.get("command", "")
        shown = command if isinstance(command, str) and body.get("shell") else " ".join(words)
        return text_reply(f"{shown} launched successfully")


def _words(body: dict[str, Any]) -> list[str]:
    """Returns what to run: a text that is not for a shell is split, and ``~/`` becomes the home."""
    shell = bool(body.get("shell", False))
    command = body.get("command", "" if shell else [])
    if isinstance(command, str):
        if shell:
            return ["/bin/sh", "-c", command]
        command = shlex.split(command)
    words = [os.path.expanduser(word) if word.startswith("~/") else word for word in command]
    if not words:
        raise ValueError("list index out of range")  # in the published server's words
    return ["/bin/sh", "-c", *words] if shell else words
