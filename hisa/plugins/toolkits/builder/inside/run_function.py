"""Calls one function of one program, under limits, and prints a line of JSON on what came of it.

``python3 -I run_function.py PROGRAM FUNCTION ARGUMENTS [SECONDS]``: ARGUMENTS is JSON, or a file
with it behind ``@``. The line is ``{"value": …}``; ``{"refused": "…"}`` for a ValueError, by which
a program says that it cannot be done; ``{"broke": "…"}`` for any other error. What the program
prints goes to standard error. Nothing of HiSA is imported: there is only Python here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["main"]

MEMORY = 2 << 30
"""Bytes of address space of the function; the bridge to LibreOffice takes a tenth of it."""
FILE = 64 << 20
"""Bytes of a file that it writes."""
VALUE = 1 << 20
"""Bytes of an answer."""
LINES = 4
"""Lines of the program that an error tells of, innermost last."""


def main(words: list[str]) -> int:
    """Call it; the answer is the only line on standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)  # a program's prints are no answers
    path, name, told, *seconds = words
    _limit(int(float(seconds[0])) if seconds else 60)
    answer = _answer(path, name, told)
    line = json.dumps(answer)
    if len(line) > VALUE:
        line = json.dumps({"broke": f"the answer has {len(line)} bytes; at most {VALUE} are taken"})
    sys.stdout.flush()
    os.write(answers, f"\n{line}\n".encode())
    return 0


def _limit(seconds: int) -> None:
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_CPU, 2 * seconds + 1),  # of what it leaves running; it is ended before
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _answer(path: str, name: str, told: str) -> dict[str, Any]:
    try:
        text = Path(told[1:]).read_text("utf-8") if told.startswith("@") else told
        value = _function(path, name)(**json.loads(text))
        json.dumps(value)
    except ValueError as error:
        if not isinstance(error, (UnicodeError, json.JSONDecodeError)):
            return {"refused": str(error)[:2000]}
        return {"broke": _told(error, path)}
    except BaseException as error:  # noqa: BLE001 - a program may raise anything, SystemExit too
        return {"broke": _told(error, path)}
    return {"value": value}


def _function(path: str, name: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location("program", path)
    if spec is None or spec.loader is None:
        raise OSError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise AttributeError(f"the program defines no function {name}")
    found: Callable[..., Any] = function
    return found


def _told(error: BaseException, path: str) -> str:
    """The error, and the lines of the program that led to it."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == path]
    lines = [f"line {each.lineno}: {each.line}" for each in frames[-LINES:]]
    if isinstance(error, SyntaxError):
        lines.append(f"line {error.lineno}: {(error.text or '').strip()}")
    return "\n".join([*lines, f"{type(error).__name__}: {error}"])[:4000]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
