"""The toolkit ``shell``: programs and processes, started without a shell.

A command is a list of words: no character in them means anything but itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from hisa.plugins.toolkits.files import amount, plain
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.plugins.toolkits.new_window import new_window
from hisa.protocols import Outcome
from hisa.text.prompt_text import ends, one_line
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["SHELL"]

_PROGRAM = "files_processes"
_KEPT = 8_000
"""Characters of output that are kept, both ends, as those of a bash command."""
_LONGEST = 600.0
_SPARE = 30.0
"""Seconds beyond a command's own limit, for what stands around it."""
Words = Annotated[tuple[str, ...], Field(min_length=1, max_length=1000)]


@tool(seconds=_LONGEST + 2 * _SPARE)
async def run(
    command: Words,
    context: ToolContext,
    stdin: str = "",
    folder: str = "~",
    seconds: Annotated[float, Field(gt=0, le=_LONGEST, allow_inf_nan=False)] = 60,
) -> Outcome:
    """Run a program with arguments to its end, without a shell; returns output and exit status.

    Each word is one item; nothing is expanded: no *, no $, no ~, no pipe. At `seconds` it is
    killed.

    Examples:
        {"command": ["wc", "-l", "notes.txt"], "folder": "~/Documents"}
        {"command": ["sort", "-u"], "stdin": "b\\na\\nb\\n"}
    """
    answer = await call_guest(
        context.environment,
        _PROGRAM,
        "run",
        command=command,
        stdin=stdin,
        folder=folder,
        seconds=_SPARE + seconds,
        limit=seconds,
    )
    error = ends(answer["error"], _KEPT)
    if answer["timed_out"]:
        error = f"killed after {seconds:g} s\n{error}".strip()
    return Outcome(
        ok=answer["exit_code"] == 0 and not answer["timed_out"],
        output=ends(answer["output"], _KEPT),
        error=error,
        exit_code=answer["exit_code"],
    )


@tool()
async def start(
    command: Words,
    context: ToolContext,
    folder: str = "~",
    wait: Annotated[float, Field(ge=0, le=30, allow_inf_nan=False)] = 1,
    window: bool = True,
) -> Outcome:
    """Start a program that goes on in the background, such as one with a window.

    After `wait` seconds it is told whether it still runs; with `window` also which window came up.

    Examples:
        {"command": ["mousepad", "notes.txt"], "folder": "~/Documents"}
        {"command": ["python3", "-m", "http.server", "8000"], "window": false}
    """
    before = await context.environment.observe() if window else None
    answer = await call_guest(
        context.environment, _PROGRAM, "start", command=command, folder=folder, wait=wait
    )
    code, said = answer["exit_code"], ends(answer["said"].strip(), _KEPT)
    told = f"\n{said}" if said else ""
    if code:
        return Outcome(ok=False, error=f"it ended at once, exit status {code}{told}")
    state = "runs" if code is None else "has ended already, exit status 0"
    came = f" {await new_window(context, before)}." if before is not None else ""
    output = f"Process {answer['pid']} {state}; it writes to {answer['log']}.{came}{told}"
    return Outcome(ok=True, output=output)


def _line(row: Mapping[str, Any]) -> str:
    about = f"{row['user']}, {row['memory_mb']} MB, since {row['started']}"
    return f"{row['pid']} {plain(row['name'])} | {about} | {one_line(row['command'])}"


@tool(reads=True)
async def processes(context: ToolContext, name: str = "") -> str:
    """List running processes, the newest first; those with `name` in their command where given.

    Examples:
        soffice
    """
    answer = await call_guest(context.environment, _PROGRAM, "processes", name=name)
    count = answer["count"]
    head = amount(count, "process").replace("processs", "processes")
    return ends("\n".join([head, *map(_line, answer["processes"])]), _KEPT)


@tool()
async def end(
    pid: Annotated[int, Field(gt=1)],
    context: ToolContext,
    force: bool = False,
    wait: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 5,
) -> Outcome:
    """End one process by its number: ask it to end, or kill it with `force`; tells whether it did.

    What is not saved in it may be lost. `processes` tells the numbers.

    Examples:
        {"pid": 4321}
    """
    answer = await call_guest(context.environment, _PROGRAM, "end", pid=pid, force=force, wait=wait)
    named = f"process {pid} ({one_line(answer['name'])})"
    if answer["gone"]:
        return Outcome(ok=True, output=f"{named} has ended")
    return Outcome(ok=False, error=f"{named} was asked to end and still runs after {wait:g} s")


@tool(reads=True)
async def environment(context: ToolContext, name: str = "") -> str:
    """Tell the names of the environment's variables, or the value of one.

    Examples:
        PATH
    """
    answer = await call_guest(context.environment, _PROGRAM, "environment", name=name)
    if answer["value"] is None:
        return ", ".join(map(one_line, answer["names"]))
    return f"{one_line(name)}={ends(answer['value'], _KEPT)}"


@tool(reads=True)
async def which(program: str, context: ToolContext) -> str:
    """Tell where a program is, or that there is none of that name.

    Examples:
        python3
    """
    answer = await call_guest(context.environment, _PROGRAM, "which", program=program)
    if answer["path"] is None:
        return f"there is no program {program!r} in {answer['searched']}"
    real = f", which is {plain(answer['real'])}" if answer["real"] != answer["path"] else ""
    return f"{plain(answer['path'])}{real}"


SHELL = Toolkit(
    "shell",
    "programs and processes",
    (run, start, processes, end, environment, which),
    Needs(capabilities=frozenset({"execute"})),
)
"""Programs and processes."""
