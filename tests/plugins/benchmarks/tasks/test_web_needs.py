"""No task whose pages a machine does not reach is prepared or scored; what a file names decides."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from hisa.config import TaskSettings
from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.task_needs import require_machine, web_needs
from hisa.plugins.machines.reached_places import find_unreached
from hisa.protocols import CommandResult, Task
from hisa.tasks.scorer import TaskScorer
from tests.plugins.benchmarks.tasks.machine import Machine, offline
from tests.tasks.host import Host

GONE = "https://nobody..invalid/page"
"""A name that cannot be: no resolver is asked for it."""


def opens(*pages: str) -> dict[str, Any]:
    return {"type": "chrome_open_tabs", "parameters": {"urls_to_open": list(pages)}}


def runs(command: str) -> dict[str, Any]:
    return {"type": "execute", "parameters": {"command": command}}


def rule(**rules: Any) -> dict[str, Any]:
    return {"type": "rule", "rules": rules}


def task(
    *setup: dict[str, Any], result: str = "open_tabs_info", words: str = "Do it.", **expected: Any
) -> Task:
    check = {"func": "exact_match", "result": {"type": result}, "expected": rule(**expected)}
    return Task(id="t", instruction=words, setup=setup, check=check, format="osworld")


def list_needs(web_task: Task, settings: TaskSettings | None = None) -> list[str]:
    return [need.words for need in web_needs(web_task, settings)]


@pytest.mark.process
async def test_unreachable_page_fails_the_setup_and_is_named(
    tmp_path: Path,
) -> None:
    machine = Host(tmp_path / "home", PATH="/usr/bin:/bin")
    scorer = TaskScorer(cache=FileCache(tmp_path / "cache", offline))
    begun = {"type": "execute", "parameters": {"command": ["touch", str(tmp_path / "begun")]}}
    web_task = Task(
        id="far", instruction="x", setup=(begun, opens(GONE, "https://other..invalid/"))
    )
    with pytest.raises(
        EnvironmentFailed, match=r"far.*does not reach: https://nobody\.\.invalid/page"
    ):
        await scorer.prepare(web_task, machine)
    assert not (tmp_path / "begun").exists()
    assert sum("concurrent" in line for line in machine.lines) == 1


@pytest.mark.process
async def test_a_way_that_goes_during_the_run_leaves_no_score(tmp_path: Path) -> None:
    result = {"type": "vm_command_line", "command": ["echo", "y"]}
    check = {"func": "exact_match", "result": result, "expected": rule(expected="x")}
    setup = ({"type": "execute", "parameters": {"command": ["true", GONE]}},)
    web_task = Task(id="t", instruction="x", setup=setup, check=check, format="osworld")
    scorer = TaskScorer(cache=FileCache(tmp_path / "cache", offline))
    with pytest.raises(EnvironmentFailed, match="does not reach"):
        await scorer.score(web_task, Host(tmp_path / "home"), "succeeded")


@pytest.mark.process
async def test_a_server_is_reached_whatever_it_answers_and_a_name_of_the_machine_is_its_own(
    tmp_path: Path,
) -> None:
    machine = Host(tmp_path / "home")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        open_port = listening.getsockname()[1]
        assert await find_unreached(machine, [("127.0.0.1", open_port)]) == {}
    assert await find_unreached(machine, [("127.0.0.1", open_port), ("localhost", 1)]) == {}
    gone = await find_unreached(machine, [("nobody..invalid", 80), ("127.0.0.1", 1)])
    assert list(gone) == [("nobody..invalid", 80)]


async def test_of_pages_that_mean_one_thing_a_single_one_is_enough(tmp_path: Path) -> None:
    web_task = task(urls=["https://a.example/x", "https://b.example/y"])
    assert list_needs(web_task) == ["any of a.example:443, b.example:443"]
    partial_machine = Machine({"concurrent": CommandResult(0, json.dumps([True, "gone"]))})
    await require_machine(web_task, partial_machine)
    offline_machine = Machine({"concurrent": CommandResult(0, json.dumps(["lost", "gone"]))})
    with pytest.raises(EnvironmentFailed, match=r"any of a\.example:443.* \(lost\)"):
        await require_machine(web_task, offline_machine)


@pytest.mark.parametrize("result", [CommandResult(1, "", "no python3"), CommandResult(0, "[tr")])
async def test_a_machine_that_cannot_say_reaches_nothing(result: CommandResult) -> None:
    with pytest.raises(EnvironmentFailed, match="the machine cannot probe it"):
        await require_machine(task(opens(GONE)), Machine({"concurrent": result}))


@pytest.mark.parametrize(
    ("web_task", "expected"),
    [
        (task(opens("https://a.example/"), url="https://a.example/x"), ["a.example:443"]),
        (task(expected=[r"^https://www\.a\.example/\w+"]), ["www.a.example:443"]),
        (task(expected=["https://a.example.*b", r"https?://.*"]), []),
        (task(result="bookmarks", urls=["https://a.example/x"]), []),
        (task(runs("echo https://a.example")), []),
        (task(runs("git -C /srv/b remote add origin https://a.example/b.git")), []),
        (task(runs("git clone https://a.example/b.git")), ["a.example:443"]),
        (Task(id="t", instruction="Type https://a.example into the editor"), []),
    ],
)
def test_needed_sites_are_those_that_the_task_file_names(
    web_task: Task, expected: list[str]
) -> None:
    assert list_needs(web_task) == expected


def test_pages_opened_by_a_proxy_are_not_required() -> None:
    web_task = task({"type": "proxy", "parameters": {}}, opens("https://a.example/"))
    assert list_needs(web_task, TaskSettings(proxy="none")) == ["a.example:443"]
    assert list_needs(web_task, TaskSettings(proxy="http://127.0.0.1:1")) == []
