"""A task about experiments that the browser does not have is never scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.browser_flags import absent_flags, needed_flags, require_flags
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.readiness import lacks, look_at
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree
from hisa.protocols import CommandResult, Task
from hisa.tasks.scorer import TaskScorer
from tests.plugins.benchmarks.tasks.machine import Machine, offline
from tests.tasks.host import Host

IS_BUILT = find_tree(recipe("osworld")) is not None
BUILD = "hisa machine build osworld"


def wanting(*names: Any, result: str = "enabled_experiments") -> Task:
    rule = {"type": "rule", "rules": {"type": "names", "names": list(names)}}
    check = {"func": "check_enabled_experiments", "result": {"type": result}, "expected": rule}
    return Task(id="flags", instruction="x", check=check, format="osworld")


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "chro mium"
    program.write_bytes(b"\x7fELF\0\xff\0smooth-scrolling\0new-refresh-2023\0")
    program.chmod(0o755)
    places = ("/nowhere/chrome", str(program))
    monkeypatch.setattr("hisa.plugins.benchmarks.tasks.browser_flags.BROWSERS", places)


@pytest.mark.process
@pytest.mark.usefixtures("browser")
async def test_an_experiment_that_is_gone_is_named_before_anything_is_done(tmp_path: Path) -> None:
    machine, given = Host(tmp_path / "home"), wanting("smooth-scrolling@1", "old-refresh-2023")
    assert await absent_flags(machine, needed_flags(given)) == ["old-refresh-2023"]
    with pytest.raises(EnvironmentFailed, match="to have old-refresh-2023, which"):
        await require_flags(given, machine)
    found = await look_at(machine, [given])
    told = lacks(given, FileCache(tmp_path / "cache", offline), found)
    assert ("application", "the browser's flag old-refresh-2023") in [
        (lack.kind, lack.what) for lack in told
    ]


@pytest.mark.process
async def test_a_browser_that_is_not_found_lacks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hisa.plugins.benchmarks.tasks.browser_flags.BROWSERS", ("/nowhere/chrome",)
    )
    assert await absent_flags(Host(tmp_path / "home"), ["old-refresh-2023"]) == []
    lost = Machine({"grep": CommandResult(-1, "old-refresh-2023", timed_out=True)})
    assert await absent_flags(lost, ["old-refresh-2023"]) == []


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (wanting("a-flag", "a-flag@2", "b_flag"), ("a-flag", "b_flag")),
        (wanting("$(touch /tmp/x)", "-e", "a b", 7, ["x"], "ok\n"), ()),
        (wanting("a-flag", result="profile_name"), ()),
        (Task(id="t", instruction="x"), ()),
    ],
)
def test_only_names_are_taken_and_only_of_experiments(given: Task, wanted: tuple[str, ...]) -> None:
    assert needed_flags(given) == wanted


@pytest.mark.desktop
@pytest.mark.skipif(not IS_BUILT, reason=BUILD)
async def test_the_real_browser_has_what_it_lists_and_lacks_what_it_dropped() -> None:
    asked = ["smooth-scrolling", "enable-gpu-rasterization", "chrome-refresh-2023"]
    async with DesktopEnvironment(profile="osworld") as desktop:
        assert await absent_flags(desktop, asked) == ["chrome-refresh-2023"]
        with pytest.raises(EnvironmentFailed, match="chrome-refresh-2023"):
            await TaskScorer().prepare(wanting(*asked), desktop)
