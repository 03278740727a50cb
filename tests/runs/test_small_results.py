"""Small files that a run made come home unasked, where a setting says how small."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from hisa.events import StepFinished
from hisa.protocols import CommandResult, Task
from hisa.runs.log import RunLog
from hisa.runs.results import Results
from hisa.testing.form import FakeEnvironment

pytestmark = pytest.mark.process


class HomeFolder(FakeEnvironment):
    """A machine whose commands run here, with a home folder of their own."""

    capabilities = frozenset({"execute", "throw_away"})

    def __init__(self, home: Path) -> None:
        super().__init__()
        self.home = home

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        line = ["sh", "-c", command] if isinstance(command, str) else [*command]
        environ = {**os.environ, "HOME": str(self.home)}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*line, env=environ, stdout=pipe, stderr=pipe)
        output, error = await process.communicate()
        return CommandResult(process.returncode or 0, output.decode(), error.decode())

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        return await asyncio.to_thread(Path(path).read_bytes)


@pytest.mark.parametrize(("small", "names"), [(100, ["asked.txt", "note.txt"]), (0, ["asked.txt"])])
async def test_small_new_files_come_home_and_none_is_missed(
    tmp_path: Path, small: int, names: list[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "before.txt").write_text("before", "utf-8")
    task = Task(id="t", instruction="x", results=("asked.txt",))
    with RunLog.create(tmp_path / "runs", task) as log:
        results = Results(task, HomeFolder(home), log, small=small)
        await results.mark()
        await asyncio.sleep(0.05)  # a file system's clock ticks every 4 to 10 ms
        for name, text in (
            ("note.txt", "1834"),
            ("large.txt", "x" * 101),
            ("asked.txt", "y" * 500),
        ):
            (home / name).write_text(text, "utf-8")
        log.emit(StepFinished())
        await results.fetch_results()
        record = log.manifest.results
        assert sorted(Path(file.path).name for file in record.fetched) == names
        assert record.missed == []
        for file in record.fetched:
            content = await asyncio.to_thread((log.folder / file.place).read_bytes)
            assert content == await asyncio.to_thread((home / Path(file.path).name).read_bytes)
