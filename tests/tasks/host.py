"""A machine for task tests whose commands and files are real: bash, in a home of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hisa.protocols import CommandResult
from hisa.screen.observation import Observation
from tests.plugins.benchmarks.tasks.machine import Machine


class Host(Machine):
    """Runs every line for real.

    Args:
        home: where ``~`` is; each line of its file "windows" is the title of a window.
        variables: added to those of this process.
    """

    def __init__(self, home: Path, **variables: str) -> None:
        super().__init__()
        home.mkdir(exist_ok=True)
        self.home = home
        self._variables = variables

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """The line, by bash."""
        line = command if isinstance(command, str) else " ".join(command)
        self.lines.append(line)
        ran = await asyncio.to_thread(self._run, line, timeout)
        return replace(ran, output=ran.output[:limit], error=ran.error[:limit])

    def _run(self, line: str, seconds: float) -> CommandResult:
        environment = {**os.environ, "HOME": str(self.home), **self._variables}
        try:
            ran = subprocess.run(
                ["/bin/bash", "-c", line],
                capture_output=True,
                text=True,
                check=False,
                cwd=self.home,
                env=environment,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return CommandResult(-1, "", "", timed_out=True)
        return CommandResult(ran.returncode, ran.stdout, ran.stderr)

    def _place(self, path: str) -> Path:
        return self.home / path[2:] if path.startswith("~/") else Path(path)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """A real file."""
        await asyncio.to_thread(self._place(path).write_bytes, data)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """A real file."""
        return await asyncio.to_thread(self._place(path).read_bytes)

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """The form's picture with the windows that the home names."""
        named = self.home / "windows"
        exists = await asyncio.to_thread(named.is_file)
        self.titles = (await asyncio.to_thread(named.read_text)).splitlines() if exists else []
        return await super().observe(elements=elements, settle=settle)
