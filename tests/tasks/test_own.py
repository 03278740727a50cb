"""Checks of our own task files that are Python functions."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from hisa.errors import UsageError
from hisa.protocols import CommandResult, Scoring
from hisa.tasks.files import load_task
from hisa.tasks.problems import problems
from hisa.tasks.scorer import TaskScorer
from tests.tasks.machine import Machine

CODE = """
print("words before the answer")
def good(): return True
def half(): return 0.5
def none(): return None
def broken(): raise RuntimeError("oh no")
"""


class Host(Machine):
    """Runs the check's Python for real, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """The line, with the machine's file in the folder."""
        place = self._folder / "check.py"
        place.write_bytes(await self.read_file("/tmp/hisa-check.py"))
        line = str(command).replace("/tmp/hisa-check.py", str(place))
        ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)  # noqa: ASYNC221
        return CommandResult(ran.returncode, ran.stdout, ran.stderr)


async def score(folder: Path, function: str) -> tuple[float | None, str]:
    found = await scoring(folder, function)
    return found.value, found.detail


async def scoring(folder: Path, function: str) -> Scoring:
    (folder / "c.py").write_text(CODE)
    path = folder / "t.yaml"
    path.write_text(f"instruction: x\ncheck: {{python: 'c.py:{function}'}}")
    task = load_task(path)
    assert problems(task) == []
    (folder / "run").mkdir(exist_ok=True)
    return await TaskScorer().score(task, Host(folder / "run"), "succeeded")


async def test_a_function_decides(tmp_path: Path) -> None:
    assert (await score(tmp_path, "good"))[0] == 1.0
    assert await score(tmp_path, "half") == (0.5, "c.py:half gave 0.5")


@pytest.mark.parametrize("function", ["none", "broken", "absent"])
async def test_a_function_that_fails_is_no_score(tmp_path: Path, function: str) -> None:
    found = await scoring(tmp_path, function)
    assert (found.state, found.value) == ("score_failed", None)
    assert found.detail.startswith("check 'c.py")


@pytest.mark.parametrize(
    "check", ["{python: c.py}", "{python: 'c.py:f', equals: '1'}", "{python: 'c.sh:f'}"]
)
def test_a_bad_function_is_refused(tmp_path: Path, check: str) -> None:
    (tmp_path / "t.yaml").write_text(f"instruction: x\ncheck: {check}")
    with pytest.raises(UsageError):
        load_task(tmp_path / "t.yaml")


def test_files_that_lack_are_named(tmp_path: Path) -> None:
    text = "instruction: x\nsetup: [{copy: {source: ../a, path: /a}}]\ncheck: {python: 'c.py:f'}"
    (tmp_path / "t.yaml").write_text(text)
    named = problems(load_task(tmp_path / "t.yaml"))
    assert len(named) == 2
    assert "outside" in named[0]
    assert "no such file" in named[1]
