"""Writes a file on the machine, and verifies that it is there and whole."""

from __future__ import annotations

from hisa.errors import EnvironmentFailed
from hisa.tasks.task_context import Context, quote_word

__all__ = ["place"]


async def place(context: Context, path: str, data: bytes) -> None:
    """Writes a file on the machine, and verifies that it is there and whole.

    Args:
        context: the task and its machine.
        path: the file on the machine; ``~/`` is the home of the machine's user.
        data: its content.

    Raises:
        EnvironmentFailed: the file is missing or has another size.
    """
    environment = context.environment
    await environment.write_file(path, data)
    result = await environment.execute(f"stat -Lc %s -- {quote_word(path)}")
    if result.exit_code == 0 and result.output.strip().isdigit():
        size = int(result.output)
    else:  # no stat on the machine, or no such file
        try:
            size = len(await environment.read_file(path))
        except OSError as error:
            raise EnvironmentFailed(f"{path}: was written but is not there: {error}") from error
    if size != len(data):
        raise EnvironmentFailed(f"{path}: {len(data)} bytes were written but {size} are there")
