"""A check whose program is not on the machine says nothing about the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.needs import needed_programs
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.protocols import CommandResult, Task
from tests.plugins.benchmarks.tasks.machine import Machine, context

ENLARGED = 'if [ "$(echo "1.25 > 1.0" | absent-bc 2>/dev/null)" = 1 ]; then echo yes; fi'

CALLED = {
    "bash": "bash",
    "bc": "bc",
    "git": "git",
    "gsettings": "libglib2.0-bin",
    "pactl": "pulseaudio-utils",
    "ps": "procps",
    "pulseaudio": "pulseaudio",
    "python": "python3",
    "timedatectl": "systemd",
}
"""Programs that checks of OSWorld's 369 tasks call, each with its package.

36 of them have a getter that runs a command. Left out is what every Debian has (cat, grep, awk),
what a task installs itself (xsel) or asks for (conda, spotify), and code, which is built.
"""


class Shell(Machine):
    """Runs every line in bash, as a private desktop does."""

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "/bin/bash", "-c", str(command), stdout=pipe, stderr=pipe
        )
        output, error = await process.communicate()
        return CommandResult(process.returncode or 0, output.decode(), error.decode())


async def asked(folder: Path, *, instruction: str = "Do it.", **config: Any) -> object:
    """What the getter of a check gives on a machine with bash."""
    where = context(folder, Shell())
    where = replace(where, task=replace(where.task, instruction=instruction))
    return await GETTERS.run(where, str(config["type"]), config)


@pytest.mark.process
@pytest.mark.parametrize("kind", ["vm_command_line", "vm_command_error"])
@pytest.mark.parametrize(
    "command",
    [
        {"command": ENLARGED, "shell": True},
        {"command": ["bash", "-c", ENLARGED]},
        {"command": "absent-bc --version | cat", "shell": True},
        {"command": "echo 1 | sh -c absent-bc", "shell": True},
        {"command": "absent-bc 1"},
    ],
)
async def test_a_program_that_a_check_misses_is_a_broken_machine(
    tmp_path: Path, kind: str, command: dict[str, Any]
) -> None:
    with pytest.raises(EnvironmentFailed, match="no program 'absent-bc'"):
        await asked(tmp_path, type=kind, **command)


@pytest.mark.process
async def test_a_script_of_a_check_that_misses_a_program_is_a_broken_machine(
    tmp_path: Path,
) -> None:
    context(tmp_path)
    (tmp_path / "task" / "eval.sh").write_text(f"exec 2>/dev/null\n{ENLARGED}\necho no\n")
    copied = tmp_path / "eval.sh"
    copied.write_text((tmp_path / "task" / "eval.sh").read_text())
    with pytest.raises(EnvironmentFailed, match="no program 'absent-bc'"):
        await asked(tmp_path, type="vm_script_output", src="eval.sh", dest=str(copied))


@pytest.mark.process
async def test_a_program_that_the_task_asks_for_or_does_without_is_none(tmp_path: Path) -> None:
    wish = "Please install absent-bc."
    line: dict[str, Any] = {
        "type": "vm_command_line",
        "command": "absent-bc --version",
        "shell": True,
    }
    assert await asked(tmp_path, instruction=wish, **line) == ""
    assert await asked(tmp_path, instruction=wish, **{**line, "shell": False}) is None
    fallback = {**line, "command": "absent-bc 2>/dev/null || echo none"}
    assert await asked(tmp_path, **fallback) == "none\n"


def test_programs_that_checks_call_are_looked_for_before_a_run() -> None:
    check = {"func": "exact_match", "result": {"type": "vm_command_line", "command": ENLARGED}}
    named = needed_programs(Task(id="t", instruction="x", check=check))
    assert "absent-bc" in named
    assert "absent-bc" not in needed_programs(Task(id="t", instruction="absent-bc", check=check))


@pytest.mark.parametrize("profile", ["osworld", "spider2v"])
def test_the_profiles_of_benchmarks_have_what_checks_of_osworld_call(profile: str) -> None:
    assert set(CALLED.values()) <= set(recipe(profile).packages)
