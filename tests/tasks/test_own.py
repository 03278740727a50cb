"""Checks of our own task files that are Python functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hisa.errors import UsageError
from hisa.protocols import Scoring
from hisa.tasks import hisa_format
from hisa.tasks.find_format import problems
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from tests.tasks.host import Host

pytestmark = pytest.mark.process

CODE = """
print("words before the answer")
def good(): return True
def half(): return 0.5
def none(): return None
def broken(): raise RuntimeError("oh no")
"""


async def score(
    folder: Path, function: str, machine: Host | None = None
) -> tuple[float | None, str]:
    result = await scoring(folder, function, machine)
    return result.value, result.detail


async def scoring(folder: Path, function: str, machine: Host | None = None) -> Scoring:
    (folder / "c.py").write_text(CODE)
    path = folder / "t.yaml"
    path.write_text(f"instruction: x\ncheck: {{python: 'c.py:{function}'}}")
    task = load_task(path)
    assert problems(task) == []
    (folder / "run").mkdir(exist_ok=True)
    machine = machine or Host(folder / "run")
    return await TaskScorer().score(task, machine, "succeeded")


async def test_a_function_decides(tmp_path: Path) -> None:
    assert (await score(tmp_path, "good"))[0] == 1.0
    assert await score(tmp_path, "half") == (0.5, "c.py:half returned 0.5")


FORGED = """
import builtins, json, sys
json.dumps = lambda value: '{"score": 1.0}'
print("forged")
"""
BASHRC = "export PATH=$HOME/bin:$PATH PYTHONSTARTUP=$HOME/json.py; python3() { echo 1; }; set +e\n"


def leave_forgeries(home: Path) -> None:
    """Everything that an agent may leave to change what Python and bash do."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for folder in (home, home / ".local" / "lib", home / ".local/lib" / version / "site-packages"):
        folder.mkdir(parents=True, exist_ok=True)
        for module in ("json", "sitecustomize", "usercustomize", "types", "hashlib"):
            (folder / f"{module}.py").write_text(FORGED)
        (folder / "evil.pth").write_text("import usercustomize\n")
    (home / "bin").mkdir(exist_ok=True)
    for program in ("python3", "grep", "env", "bash"):
        (home / "bin" / program).write_text("#!/bin/sh\necho '{\"score\": 1.0}'\nexit 0\n")
        (home / "bin" / program).chmod(0o755)
    for name in (".bashrc", ".profile", ".bash_profile", ".bash_env"):
        (home / name).write_text(BASHRC)


@pytest.mark.parametrize(
    "check",
    [
        '{python: "c.py:bad"}',
        '{command: "grep -q milk list.txt"}',
        '{command: "cat list.txt", equals: milk}',
    ],
)
async def test_files_left_by_the_agent_cannot_forge_a_check(tmp_path: Path, check: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "list.txt").write_text("bread\n")
    (tmp_path / "c.py").write_text(
        "import os\ndef bad(): return 'milk' in open(os.path.expanduser('~/list.txt')).read()\n"
    )
    path = tmp_path / "t.yaml"
    path.write_text(f"instruction: x\ncheck: {check}")
    leave_forgeries(home)
    task = load_task(path)
    libraries = str(home / ".local" / "lib")
    machine = Host(home, PYTHONPATH=libraries, BASH_ENV=str(home / ".bashrc"))
    assert (await TaskScorer().score(task, machine, "succeeded")).value == 0.0
    (home / "list.txt").write_text("milk\n")
    assert (await TaskScorer().score(task, machine, "succeeded")).value == 1.0


@pytest.mark.parametrize("holds", ["excludes: bread", "contains: milk", "equals: milk"])
async def test_check_of_too_long_output_scores_zero(tmp_path: Path, holds: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "list.txt").write_text("milk" + " " * 1_000_000 + "bread")
    path = tmp_path / "t.yaml"
    path.write_text(f'instruction: x\ncheck: {{command: "cat list.txt", {holds}}}')
    result = await TaskScorer().score(load_task(path), Host(home), "succeeded")
    assert result.value == 0.0
    assert "printed more than 1,000,000 bytes, which are not read" in result.detail


async def test_check_changed_on_the_machine_gives_no_score(tmp_path: Path) -> None:
    class Changing(Host):
        async def write_file(self, path: str, data: bytes, /) -> None:
            await super().write_file(path, data + b"\ndef half(): return True\n")

    (tmp_path / "run").mkdir()
    value, why = await score(tmp_path, "half", Changing(tmp_path / "run"))
    assert value is None
    assert "was changed on the machine" in why


@pytest.mark.parametrize("function", ["none", "broken", "absent"])
async def test_failing_check_function_gives_no_score(tmp_path: Path, function: str) -> None:
    result = await scoring(tmp_path, function)
    assert (result.state, result.value) == ("score_failed", None)
    assert result.detail.startswith("check 'c.py")


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


async def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("instruction: x\ncheck: {command: 'true && no-such-tool -p a.odt'}")
    (tmp_path / "run").mkdir()
    result = await TaskScorer().score(load_task(path), Host(tmp_path / "run"), "succeeded")
    assert result.value == 0.0
    assert "no-such-tool: command not found" in result.detail


async def test_endless_check_command_gives_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hisa_format, "CHECK_SECONDS", 0.2)
    path = tmp_path / "t.yaml"
    path.write_text("instruction: x\ncheck: {command: 'sleep 60'}")
    (tmp_path / "run").mkdir()
    result = await TaskScorer().score(load_task(path), Host(tmp_path / "run"), "succeeded")
    assert result.value is None
    assert "'sleep 60' did not end within" in result.detail
