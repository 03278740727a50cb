"""What the programs share: paths, the bin, waiting, and the form of an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Refused", "path_of", "serve", "to_bin", "wait_until"]

_BIN_SECONDS = 30.0
"""A large folder is copied into the bin if that is on another disk."""


class Refused(Exception):
    """The call cannot be done as it was asked; the model reads this text."""


def path_of(text: str) -> Path:
    """Returns the path that a text means: absolute, or from the home folder on.

    Raises:
        Refused: it is not a path.
    """
    if not text.strip() or "\0" in text:
        raise Refused(f"{text!r} is no path")
    return Path(os.path.normpath(Path.home() / Path(text).expanduser()))


def to_bin(path: Path) -> None:
    """Moves something to the desktop's bin.

    Raises:
        Refused: it is still where it was, or the move failed.
    """
    result = subprocess.run(
        ["gio", "trash", "--", os.fspath(path)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_BIN_SECONDS,
        check=False,
    )
    if result.returncode or os.path.lexists(path):
        reason = result.stderr.strip() or "it is still there"
        raise Refused(f"{str(path)!r} did not go to the bin: {reason}")


def wait_until(holds: Callable[[], bool], seconds: float, problem: str) -> None:
    """Waits until a condition holds.

    Args:
        holds: the condition, asked ten times a second.
        seconds: how long to wait.
        problem: the text of the refusal.

    Raises:
        Refused: the condition does not hold in time.
    """
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise Refused(problem)
        time.sleep(0.1)


def serve(
    functions: Mapping[str, Callable[..., Any]], broken: Mapping[type[Exception], str] | None = None
) -> None:
    """Runs the call of the command line, and prints its answer.

    Args:
        functions: those that may be called, by name.
        broken: further errors that become answers, with what goes before their text.
    """
    name, text = sys.argv[1:3]
    arguments = json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)
    prefixes = broken or {}
    expected: tuple[type[Exception], ...] = (OSError, Refused, subprocess.TimeoutExpired, *prefixes)
    try:
        answer = {"value": functions[name](**arguments)}
    except expected as error:
        before = next((prefixes[kind] for kind in type(error).__mro__ if kind in prefixes), "")
        answer = {"error": f"{before}{error}" or type(error).__name__}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
