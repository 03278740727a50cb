"""Puts a file on the machine, and sees that it is there and whole."""

from __future__ import annotations

from hisa.errors import EnvironmentFailed
from hisa.tasks.task_context import Context, quoted

__all__ = ["place"]


async def place(context: Context, path: str, data: bytes) -> None:
    """Put a file on the machine, and see that it is there and whole.

    Raises:
        EnvironmentFailed: it is not.
    """
    environment = context.environment
    await environment.write_file(path, data)
    said = await environment.execute(f"stat -Lc %s -- {quoted(path)}")
    if said.exit_code == 0 and said.output.strip().isdigit():
        there = int(said.output)
    else:  # no such program there, or no such file
        try:
            there = len(await environment.read_file(path))
        except OSError as error:
            raise EnvironmentFailed(f"{path}: was written and is not there: {error}") from error
    if there != len(data):
        raise EnvironmentFailed(f"{path}: {len(data)} bytes were written and {there} are there")
