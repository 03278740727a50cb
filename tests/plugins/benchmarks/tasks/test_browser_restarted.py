"""A post-config that ends the browser and starts it anew, as published, before a getter reads."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.benchmarks.tasks.chrome import tabs
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.local_pages import PageStep, work_page
from hisa.plugins.benchmarks.tasks.setup.start_programs import ends_programs
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree
from hisa.protocols import CommandResult, Task
from hisa.tasks.scorer import TaskScorer
from tests.plugins.benchmarks.tasks.machine import Machine, context, do

BUILD = "hisa machine build osworld"
IS_BUILT = find_tree(recipe("osworld")) is not None
CHANGED = "'enable_do_not_track', true"
CHROME = {
    "type": "launch",
    "parameters": {"command": ["google-chrome", "--remote-debugging-port=1337"]},
}
AGAIN = [
    {"type": "launch", "parameters": {"command": ["pkill", "chrome"]}},
    CHROME,
    {"type": "sleep", "parameters": {"seconds": 3}},
]


def build_task(kind: str, expected: Any) -> Task:
    """A task of the shape of the published ones about the browser's settings."""
    check = {
        "postconfig": AGAIN,
        "func": "exact_match",
        "result": {"type": kind},
        "expected": {"type": "rule", "rules": {"expected": expected}},
    }
    return Task(id="t", instruction="x", setup=(CHROME,), check=check, format="osworld")


@pytest.mark.desktop
@pytest.mark.skipif(
    not (shutil.which("chromium") or IS_BUILT), reason=f"needs Chromium, or {BUILD}"
)
async def test_a_setting_is_read_after_the_browser_was_restarted(tmp_path: Path) -> None:
    task, scorer = build_task("enable_do_not_track", "true"), TaskScorer()
    async with DesktopEnvironment(profile="osworld" if IS_BUILT else "") as desktop:
        await scorer.prepare(task, desktop)
        where = dataclasses.replace(context(tmp_path), environment=desktop, phase="score")
        unset = GETTERS.get("enable_do_not_track")
        assert unset is not None
        assert await unset.run(where, unset.model()) == "false"
        before = await desktop.execute("pgrep -o chrom")
        step = f"new Promise(done => chrome.settingsPrivate.setPref({CHANGED}, '', done))"
        await work_page(where, "chrome://settings", [PageStep("run", value=step)])
        scoring = await scorer.score(task, desktop, "succeeded")
        assert scoring.value == 1.0, scoring.detail
        after = await desktop.execute("pgrep -o chrom")
        assert after.output.strip() not in ("", before.output.strip())
        assert len(await tabs(where)) == 1


@pytest.mark.parametrize("kind", ["launch", "execute", "command"])
async def test_chromium_ends_where_chrome_is_the_target_and_is_waited_for(
    tmp_path: Path, kind: str
) -> None:
    left = iter([0, 0, 1])

    class Slow(Machine):
        async def execute(self, command: Any, **options: Any) -> CommandResult:
            if "ps -C" in command:
                self.lines.append("looked")
                return CommandResult(next(left), "")
            return await super().execute(command, **options)

    machine = Slow({"pkill": CommandResult(1, "")}, programs="pkill")
    await do(context(tmp_path, machine), kind, command=["pkill", "chrome"])
    assert machine.lines == ["pkill chrome", "pkill chromium", *["looked"] * 3]


async def test_another_program_is_ended_alone(tmp_path: Path) -> None:
    machine = Machine(programs="pkill")
    await do(context(tmp_path, machine), "launch", command="pkill -f vlc")
    assert machine.lines == ["pkill -f vlc"]


@pytest.mark.parametrize(
    ("command", "shell", "does"),
    [
        ("pkill chrome", True, True),
        ("/usr/bin/killall -9 vlc", False, True),
        (["pkill", "chrome"], True, False),
        ("pkill chrome; sleep 1", True, False),
        ("echo pkill", False, False),
        ("pkill 'chrome", False, False),
        ([], False, False),
    ],
)
def test_commands_that_only_end_programs_are_recognized(
    command: Any, shell: bool, does: bool
) -> None:
    assert ends_programs(command, shell=shell) is does
