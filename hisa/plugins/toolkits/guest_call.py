"""Calls a function of a guest program inside the machine, and returns its answer.

The program is a module of ``hisa/plugins/toolkits/guest/``. That folder is copied to the machine
as a package, unless it is there already: its modules import one another relatively (``from
.office_bridge import serve``), and nothing else of HiSA. The program is started anew for each
call, as ``__main__``, with the words FUNCTION and ARGUMENTS in ``sys.argv[1:3]``. ARGUMENTS are
JSON, or ``@FILE`` if that would be long. The last line of output is the answer: ``{"value": …}``,
or ``{"error": "…"}`` if the call cannot be done.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from hisa.actions.effects import Effect
from hisa.errors import ToolFailed
from hisa.protocols import Environment, FileRefused
from hisa.text.prompt_text import ends
from hisa.tools.base import ToolContext
from hisa.tools.traits import NO_TRAITS, tool

__all__ = ["OFFICE_DIALOGS", "GuestTool", "call_guest"]

OFFICE_DIALOGS = ("soffice", "xdg-desktop-portal-*")
"""Classes of the windows of LibreOffice's dialogs, and of those of files."""

PYTHON = "/usr/bin/python3"
"""The system's Python, which has UNO and pyatspi; that of a virtual environment does not."""
_FOLDER = "/tmp/.hisa-toolkits"
_START = "start.py"
"""Written last: if it is there, so are the others."""
_STARTER = """\
import json, runpy, sys
sys.path.insert(0, {folder!r})
sys.argv[0:2] = sys.argv[1:2]
try:
    runpy.run_module("guest." + sys.argv[0], run_name="__main__")
except ModuleNotFoundError as error:
    message = "the machine's " + sys.executable + " has no module " + repr(error.name)
    print(json.dumps(dict(error=message)))
"""
_ARGUMENTS = 100_000
"""Bytes of arguments on a command line, which has room for 128 kB; longer ones go in a file."""
_ANSWER = 8 << 20
"""Most bytes of an answer that are read."""


async def call_guest(
    environment: Environment,
    program: str,
    function: str,
    /,
    *,
    seconds: float = 60.0,
    **arguments: Any,
) -> Any:
    """Returns the answer of a guest program's function, as plain JSON data.

    Args:
        environment: the machine.
        program: a module's name under ``hisa/plugins/toolkits/guest/``.
        function: one that the program offers.
        seconds: time limit, as it is: the caller applies `patience`.
        arguments: of the function, as plain JSON data or records.

    Raises:
        ToolFailed: the program says what went wrong, or it broke or did not end in time.
        EnvironmentFailed: the machine does not answer.
    """
    folder = await _place_programs(environment)
    sent = json.dumps(arguments, default=BaseModel.model_dump)
    words = [PYTHON, "-I", f"{folder}/{_START}", program, function, sent]
    if len(sent.encode()) > _ARGUMENTS:
        arguments_path = f"{folder}/{hashlib.sha256(sent.encode()).hexdigest()[:16]}.json"
        await environment.write_file(arguments_path, sent.encode())
        words[-1] = f"@{arguments_path}"
    result = await environment.execute(words, timeout=seconds, limit=_ANSWER)
    if result.timed_out:
        raise ToolFailed(f"{function} did not end within {seconds:g} s")
    line = result.output.rstrip().rsplit("\n", 1)[-1]
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or not ({"value", "error"} & set(answer)):
        message = ends((result.error or result.output).strip(), 800)
        raise ToolFailed(f"{function} broke (exit status {result.exit_code}): {message}")
    if "error" in answer:
        raise ToolFailed(str(answer["error"]))
    return answer["value"]


Declaration = Callable[..., Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class GuestTool:
    """Declares tools whose work functions of a guest program do, with the same names and inputs.

    It decorates functions without a body, which have a signature and a docstring.
    """

    program: str
    seconds: float
    """Time limit of a function, if the tool states none of its own."""
    format_answer: Callable[[Any], str] = str
    """Returns the text for what a function answers."""

    def __call__(
        self,
        renamed: Mapping[str, str] = {},
        *,
        effects: tuple[Effect, ...] = (),
        reads: bool = False,
        seconds: float | None = None,
    ) -> Callable[[Declaration], Callable[..., Coroutine[Any, Any, str]]]:
        """State what a tool does.

        Args:
            renamed: inputs for which the program has another name, with that name.
            effects: what the tool does beyond the screen.
            reads: whether the tool changes nothing.
            seconds: time limit of a call; None: the program's.
        """

        def declare(function: Declaration) -> Callable[..., Coroutine[Any, Any, str]]:
            @wraps(function)
            async def call(*, context: ToolContext, **arguments: Any) -> str:
                answer = await call_guest(
                    context.environment,
                    self.program,
                    function.__name__,
                    seconds=seconds or self.seconds,
                    **{renamed.get(name, name): value for name, value in arguments.items()},
                )
                return self.format_answer(answer)

            declared = inspect.signature(function)
            own = inspect.Parameter(
                "context", inspect.Parameter.KEYWORD_ONLY, annotation=ToolContext
            )
            signature = declared.replace(parameters=[*declared.parameters.values(), own])
            call.__annotations__ = {**function.__annotations__, own.name: ToolContext}
            setattr(call, "__signature__", signature)  # noqa: B010 - no attribute of functions, to mypy
            return tool(effects=effects, reads=reads, seconds=seconds or NO_TRAITS.seconds)(call)

        return declare


async def _place_programs(environment: Environment) -> str:
    """Copies the programs to the machine unless they are there, and returns their folder."""
    folder, programs = _programs()
    start = f"{folder}/{_START}"
    starter = _STARTER.format(folder=folder).encode()
    try:
        stored_starter = await environment.read_file(start, limit=len(starter))
    except (FileNotFoundError, FileRefused):
        stored_starter = b""
    if stored_starter != starter:
        for name, source in programs.items():
            await environment.write_file(f"{folder}/guest/{name}", source)
        await environment.write_file(start, starter)
    return folder


@cache
def _programs() -> tuple[str, Mapping[str, bytes]]:
    """Returns the folder's name, which has a hash of its contents, and the files by name."""
    sources = {
        item.name: item.read_bytes()
        for item in files("hisa.plugins.toolkits.guest").iterdir()
        if item.name.endswith((".py", ".js"))
    }
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(name.encode() + b"\0" + sources[name] + b"\0")
    return f"{_FOLDER}/{digest.hexdigest()[:16]}", sources
