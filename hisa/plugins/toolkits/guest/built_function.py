"""Calls a function of a program that a model wrote, under limits; runs inside the machine.

The answer's value is ``{"value": …}``; or ``{"refused": "…"}`` for a ValueError, by which a program
says that the call cannot be done; or ``{"broke": "…"}`` for any other error. What the program
prints goes to standard error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

MEMORY = 2 << 30
"""Bytes of address space of the function; the bridge to LibreOffice takes a tenth of it."""
FILE = 64 << 20
"""Most bytes of a file that it writes."""
VALUE = 1 << 20
"""Most bytes of an answer."""
LINES = 4
"""Calls of the traceback that an error shows, innermost last."""


def limit(seconds: float) -> None:
    """Limits memory, the size of files, and processor time, also of what it leaves running."""
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_CPU, 2 * int(seconds) + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def answer(path: Path, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Calls a function of the program in a file, and returns the result.

    Args:
        path: the file with the program's source.
        name: the function to call.
        arguments: its arguments by name.
    """
    try:
        spec = importlib.util.spec_from_file_location("program", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not callable(getattr(module, name, None)):
            raise AttributeError(f"the program defines no function {name}")
        value = getattr(module, name)(**arguments)
        size = len(json.dumps(value))
    except BaseException as error:  # noqa: BLE001 - a program may raise anything, SystemExit too
        defects = (UnicodeError, json.JSONDecodeError)
        if isinstance(error, ValueError) and not isinstance(error, defects):
            return {"refused": str(error)[:2000] or "refused without a word"}
        return {"broke": "".join(traceback.format_exception(error, limit=-LINES))[-4000:]}
    if size > VALUE:
        return {"broke": f"the answer has {size} bytes; at most {VALUE} are allowed"}
    return {"value": value}


def main(name: str, arguments: str) -> None:
    """Prints the answer, which is the only line on standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what a program prints is no answer
    text = Path(arguments[1:]).read_text("utf-8") if arguments.startswith("@") else arguments
    call = json.loads(text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(call["code"], "utf-8", "replace")
        limit(call["limit"])
        line = json.dumps({"value": answer(path, name, call["given"])})
    os.write(answers, f"\n{line}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:3])
