"""Calls a function of a program of ours inside the machine, and returns what it answers.

The program is a file under ``hisa/tools/kits/guest/``; it is put onto the machine where it is not
yet, and started anew for each call: ``python3 FILE FUNCTION ARGUMENTS``, both told as JSON. Its
last line of output is its answer: ``{"value": …}``, or ``{"error": "…"}`` where it cannot be done.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from hisa.errors import ToolFailed
from hisa.protocols import Environment, FileRefused
from hisa.text.prompt_text import ends

__all__ = ["call_guest"]

PYTHON = "/usr/bin/python3"
"""The system's own, which has UNO and pyatspi; a virtual environment's has not."""
_FOLDER = "/tmp/.hisa-toolkits"
_ARGUMENTS = 100_000
"""Bytes of arguments that go into a command line, which has room for 128 kB; more go by a file."""
_ANSWER = 8 << 20
"""Bytes of an answer that are read."""


async def call_guest(
    environment: Environment,
    program: str,
    function: str,
    /,
    *,
    seconds: float = 60.0,
    **arguments: Any,
) -> Any:
    """Returns what a function of a guest program answers, as plain JSON data.

    Args:
        environment: the machine.
        program: a file's name under ``hisa/tools/kits/guest/``, without its ending.
        function: one that the program offers.
        seconds: time limit.
        arguments: of the function, as plain JSON data.

    Raises:
        ToolFailed: what the program says went wrong, or that it broke or did not end in time.
        EnvironmentFailed: the machine does not answer.
    """
    path = await _placed(environment, program)
    words = [PYTHON, "-I", path, function, json.dumps(arguments)]
    if len(words[-1].encode()) > _ARGUMENTS:
        held = f"{path}.{hashlib.sha256(words[-1].encode()).hexdigest()[:16]}.json"
        await environment.write_file(held, words[-1].encode())
        words[-1] = f"@{held}"
    done = await environment.execute(words, timeout=seconds, limit=_ANSWER)
    if done.timed_out:
        raise ToolFailed(f"{function} did not end within {seconds:g} s")
    line = done.output.rstrip().rsplit("\n", 1)[-1]
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not ({"value", "error"} & set(answer)):
        said = ends((done.error or done.output).strip(), 800)
        raise ToolFailed(f"{function} broke (exit status {done.exit_code}): {said}")
    if "error" in answer:
        raise ToolFailed(str(answer["error"]))
    return answer["value"]


async def _placed(environment: Environment, program: str) -> str:
    """The path of the program on the machine; it is put there where it is not."""
    source, name = _source(program)
    path = f"{_FOLDER}/{name}"
    try:
        there = await environment.read_file(path, limit=len(source))
    except (FileNotFoundError, FileRefused):
        there = b""
    if there != source:
        await environment.write_file(path, source)
    return path


@cache
def _source(program: str) -> tuple[bytes, str]:
    source = files("hisa.tools.kits.guest").joinpath(f"{program}.py").read_bytes()
    return source, f"{program}-{hashlib.sha256(source).hexdigest()[:12]}.py"
