"""The published server's routes that run commands.

Each reads both pipes of its command to their end: a program that stays in the background with one
of them open holds the request until the time limit.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .stock_messages import Reply, Request, Routes, json_reply, page, text_reply

__all__ = ["CommandRoutes", "Wrap"]

_PYTHON_SECONDS, _SCRIPT_SECONDS = 30.0, 100.0
_PYTHON = "/usr/bin/python3"

Wrap = Callable[[Sequence[str]], Sequence[str]]
"""Makes the command line that is run from the one that was asked for."""


class CommandRoutes:
    """Commands, run for real.

    Args:
        seconds: the longest that a command of `/execute` may take; 120 in the published server.
        wrap: put around each command line, such as a namespace of its own.
        answers_scripts: `/run_bash_script` answers; the published image's runs its script and then
            trips over its own answer.
    """

    def __init__(
        self, seconds: float = 120.0, wrap: Wrap = list, *, answers_scripts: bool = False
    ) -> None:
        self._seconds = seconds
        self._wrap = wrap
        self._answers_scripts = answers_scripts

    def routes(self) -> Routes:
        """By method and path."""
        return {
            ("POST", "/execute"): self._execute,
            ("POST", "/setup/execute"): self._execute,
            ("POST", "/setup/launch"): self._launch,
            ("POST", "/run_python"): self._run_python,
            ("POST", "/run_bash_script"): self._run_bash_script,
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

    def _execute(self, asked: Request) -> Reply:
        """Output that is not UTF-8 is an error, as a missing program is."""
        try:
            done = self._run(_words(asked.json()), self._seconds)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return json_reply({"status": "error", "message": str(error)}, 500)
        told = {"output": done.stdout, "error": done.stderr, "returncode": done.returncode}
        return json_reply({"status": "success", **told})

    def _launch(self, asked: Request) -> Reply:
        body = asked.json()
        try:
            words = _words(body)
            process = subprocess.Popen(list(self._wrap(words)))
            threading.Thread(target=process.wait, daemon=True).start()  # nobody else waits for it
        except (OSError, ValueError) as error:
            return json_reply({"status": "error", "message": str(error)}, 500)
        command = body.get("command", "")
        shown = command if isinstance(command, str) and body.get("shell") else " ".join(words)
        return text_reply(f"{shown} launched successfully")

    def _run_python(self, asked: Request) -> Reply:
        code = asked.json().get("code")
        if not code:
            return json_reply({"status": "error", "message": "Code not supplied!"}, 400)
        try:
            done = self._run([_PYTHON, "-c", str(code)], _PYTHON_SECONDS)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            told = {"message": f"Execution error: {error}", "error": str(error)}
            return json_reply({"status": "error", "need_more": False, "output": None, **told}, 500)
        return json_reply(_python_result(done))

    def _run_bash_script(self, asked: Request) -> Reply:
        body = asked.json()
        script, folder = body.get("script"), body.get("working_dir")
        if not script:
            return _script_failed("Script not supplied!", 400)
        if folder and not os.path.exists(folder := os.path.expanduser(folder)):
            return _script_failed(f"Working directory does not exist: {folder}", 400)
        seconds = float(body.get("timeout", _SCRIPT_SECONDS))
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
            file.write(str(script))
            file.flush()
            try:
                merged = {"stderr": subprocess.STDOUT, "cwd": folder or None}
                done = self._run(["/bin/bash", file.name], seconds, **merged)
            except subprocess.TimeoutExpired:
                return _script_failed(f"Script execution timed out after {seconds:g} seconds", 500)
        if not self._answers_scripts:
            return page(500, "Internal Server Error")
        status = "success" if done.returncode == 0 else "error"
        told = {"output": done.stdout, "error": "", "returncode": done.returncode}
        return json_reply({"status": status, **told})


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


def _python_result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    error = done.stderr
    if done.returncode and not error:
        error = f"Process exited with code {done.returncode}"
    return {
        "status": "error" if done.returncode else "success",
        "message": "\n".join(filter(None, (done.stdout, error))),
        "need_more": False,
        "output": done.stdout,
        "error": error,
        "return_code": done.returncode,
    }


def _script_failed(why: str, status: int) -> Reply:
    told = {"status": "error", "output": why, "error": "", "returncode": -1}
    return json_reply(told, status)
