"""Getters that give what a command or a script says."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hisa.errors import EnvironmentFailed
from hisa.protocols import CommandResult
from hisa.tasks.context import Context
from hisa.tasks.getters.base import getter
from hisa.tasks.setup.base import Parameters
from hisa.tasks.setup.files import Copy, put_and_run

__all__ = ["Command"]


class Command(Parameters):
    """A command to run on the machine."""

    command: Annotated[str | tuple[str, ...], Field(min_length=1)]
    shell: bool = False


async def _result(context: Context, wanted: Command) -> CommandResult | None:
    """None where the program is not there: the agent may have been asked to install it."""
    words = wanted.command if isinstance(wanted.command, str) else list(wanted.command)
    first = "" if wanted.shell or not words else _first(words)
    if first and not await context.program(first):
        return None
    return await context.run(words, shell=wanted.shell)


def _first(words: str | list[str]) -> str:
    return words.split(maxsplit=1)[0] if isinstance(words, str) else words[0]


@getter("vm_command_line", Command)
async def vm_command_line(context: Context, wanted: Command) -> str | None:
    """What a command prints; None where there is no such program."""
    result = await _result(context, wanted)
    return None if result is None else result.output


@getter("vm_command_error", Command)
async def vm_command_error(context: Context, wanted: Command) -> str | None:
    """What a command prints as errors; None where there is no such program."""
    result = await _result(context, wanted)
    return None if result is None else result.error


@getter("vm_script_output", Copy)
async def vm_script_output(context: Context, wanted: Copy) -> str:
    """What a script that came with the task prints on the machine."""
    result = await put_and_run(context, wanted.src, wanted.dest)
    if result.exit_code in (126, 127) and not result.output.strip():
        raise EnvironmentFailed(f"{wanted.src}: cannot run: {result.error.strip()[-300:]}")
    return result.output
