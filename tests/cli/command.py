"""Runs the real command line in a process of its own: a new one, or one that is forked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hisa.testing.model_server import Fault, ReceivedRequest
from tests.cli.fork_runner import can_fork, run_forked
from tests.never_ending import never_terminate

ROOT = Path(__file__).parent.parent.parent
Answer = Callable[[ReceivedRequest], str | Fault]


class Command:
    """``hisa`` with its runs and patterns in a folder of the test."""

    def __init__(self, folder: Path, *, url: str = "") -> None:
        self.folder = folder
        self.environ = {
            **os.environ,
            "HISA_PATTERNS__PATH": str(folder / "patterns"),
            "HISA_RUN__FOLDER": str(folder / "runs"),
            "COLUMNS": "200",
        }
        if url:
            self.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "x"}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it as a new process and let it run."""
        return subprocess.Popen(
            [sys.executable, "-m", "hisa", *arguments],
            env=self.environ,
            cwd=ROOT,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str, code: int = 0) -> str:
        """Standard output of a command that ends with ``code``."""
        ended, output, errors = self.run_to_end(*arguments)
        assert ended == code, f"exit {ended}\n{output}\n{errors}"
        return output

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What a command with ``--json`` prints."""
        return json.loads(self.run(*arguments, "--json", code=code))

    def run_refused(self, *arguments: str, code: int = 2) -> str:
        """Standard error of a command that ends with ``code``."""
        ended, output, errors = self.run_to_end(*arguments, seconds=120)
        assert ended == code, f"exit {ended}\n{output}\n{errors}"
        assert "Traceback" not in errors
        return errors

    def run_to_end(self, *arguments: str, seconds: float = 300) -> tuple[int, str, str]:
        """Exit code and what was printed, once it has ended."""
        if can_fork(arguments, self.environ, str(ROOT)):
            return run_forked(arguments, self.environ, str(ROOT), seconds)
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=seconds)
        return process.returncode, output, errors


def endless(received: ReceivedRequest) -> str:
    """A server that answers every job and never ends a run."""
    return never_terminate(received.job, received.step, received.text_by("user"))
