"""Runs a function of a program inside the machine, and nowhere else.

The program and what starts it (``inside/run_function.py``) are put onto the machine as files; here
they are bytes and nothing more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from hisa.machine.patience import patience
from hisa.plugins.toolkits.builder.build_records import too_deep
from hisa.protocols import Environment, FileRefused
from hisa.text.prompt_text import ends, printable

__all__ = ["Answer", "call_program"]

PYTHON = "/usr/bin/python3"
"""The system's own, which has the libraries of applications; a virtual environment's has not."""
_FOLDER = "/tmp/.hisa-programs"
_READ = 2 << 20
"""Bytes of output that are read; an answer has half of that at most."""
_SAID = 2000
"""Characters of an error that are passed on."""


@dataclass(frozen=True)
class Answer:
    """What came of a call: a value, or why there is none."""

    value: Any = None
    refused: str = ""
    """In the program's words: it cannot be done so."""
    broke: str = ""
    """A defect of the program: an error, no answer, no end in time."""
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return not self.refused and not self.broke


async def call_program(
    environment: Environment,
    code: str,
    function: str,
    arguments: Mapping[str, Any],
    *,
    seconds: float = 30.0,
) -> Answer:
    """Call a function of a program on the machine.

    Args:
        environment: the machine.
        code: the program.
        function: one that it defines.
        arguments: of the function, as plain JSON data.
        seconds: time limit, on an idle machine.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    limit = patience(seconds)
    runner = await _placed(environment, _runner())
    program = await _placed(environment, code.encode("utf-8", "replace"))
    told = json.dumps(dict(arguments)).encode()
    words = [PYTHON, "-I", "-B", runner, program, function]
    words.append("@" + await _placed(environment, told, ending="json"))
    done = await environment.execute([*words, f"{limit:g}"], timeout=limit, limit=_READ)
    if done.timed_out:
        return Answer(broke=f"it did not end within {seconds:g} s", timed_out=True)
    answer = _answer(done.output)
    if answer is None:
        said = ends(printable(done.error or done.output).strip(), _SAID)
        return Answer(broke=f"no answer (exit status {done.exit_code}): {said}")
    return answer


def _answer(output: str) -> Answer | None:
    try:
        said = json.loads(output.rstrip("\n").rsplit("\n", 1)[-1])
    except (ValueError, RecursionError):
        return None
    if too_deep(said):
        return Answer(broke="the answer is nested too deep")
    match said:
        case {"value": value}:
            return Answer(value)
        case {"refused": str(why)}:
            return Answer(refused=ends(printable(why), _SAID) or "refused without a word")
        case {"broke": str(why)}:
            return Answer(broke=ends(printable(why), _SAID) or "broke without a word")
        case _:
            return None


async def _placed(environment: Environment, data: bytes, *, ending: str = "py") -> str:
    """The path of a file with that content on the machine; it is put there where it is not."""
    path = f"{_FOLDER}/{hashlib.sha256(data).hexdigest()[:16]}.{ending}"
    try:
        there = await environment.read_file(path, limit=len(data))
    except (FileNotFoundError, FileRefused):
        there = None
    if there != data:
        await environment.write_file(path, data)
    return path


@cache
def _runner() -> bytes:
    return files("hisa.plugins.toolkits.builder.inside").joinpath("run_function.py").read_bytes()
