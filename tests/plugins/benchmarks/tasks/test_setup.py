"""Every setup step: what it does to the machine, and when it is the machine's failure."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hisa.actions import Click, Hotkey
from hisa.errors import EnvironmentFailed, UsageError
from hisa.protocols import CommandResult
from hisa.tasks.windows import Named, await_window
from tests.plugins.benchmarks.tasks.machine import Machine, context, do


def list_started(machine: Machine) -> list[str]:
    """The lines that were started in the background."""
    words = [shlex.split(line) for line in machine.lines]
    return [part[6] for part in words if part[:4] == ["setsid", "-f", "bash", "-c"]]


async def test_copy_takes_the_tasks_own_files_and_no_others(tmp_path: Path) -> None:
    where = context(tmp_path)
    (tmp_path / "task" / "a.txt").write_bytes(b"here")
    (tmp_path / "secret").write_bytes(b"there")
    (tmp_path / "task" / "link").symlink_to(tmp_path / "secret")
    await do(where, "copyfile_from_host_to_guest", src="a.txt", dest="/a")
    assert await where.environment.read_file("/a") == b"here"
    for source in ("../secret", "link", str(tmp_path / "secret"), "evaluation_examples/link"):
        with pytest.raises(UsageError, match="outside"):
            await do(where, "copyfile_from_host_to_guest", src=source, dest="/b")


@pytest.mark.parametrize("source", ["init.sh", "https://x.org/init.sh"])
async def test_scripts_are_put_run_and_taken_away(tmp_path: Path, source: str) -> None:
    machine = Machine()
    where = context(tmp_path, machine)
    (tmp_path / "task" / "init.sh").write_bytes(b"echo 1")
    where.cache.put("https://x.org/init.sh", b"echo 1")
    await do(where, "script_and_execute", src=source, dest="/tmp/i.sh")
    assert await machine.read_file("/tmp/i.sh") == b"echo 1"
    assert [re.sub(r"BASH_ENV=\S+ ", "", line) for line in machine.lines] == [
        "chmod a+x /tmp/i.sh",
        "/bin/bash /tmp/i.sh",
        "rm -f /tmp/i.sh",
    ]
    broken = context(tmp_path, Machine({"bash": CommandResult(127, "", "bash: not found")}))
    with pytest.raises(EnvironmentFailed, match="ended with 127"):
        await do(broken, "script_and_execute", src=source, dest="/tmp/i.sh")


async def test_launch_starts_the_program_that_is_there(tmp_path: Path) -> None:
    machine = Machine(programs="chromium ls")
    where = context(tmp_path, machine)
    await do(where, "launch", command=["google-chrome", "--a b", "~/x y"])
    await do(where, "launch", command="ls -l 'a b'")
    await do(where, "launch", command="a | b", shell=True)
    assert list_started(machine) == ["chromium '--a b' \"$HOME\"/'x y'", "ls -l 'a b'", "a | b"]
    with pytest.raises(EnvironmentFailed, match="no program 'code'"):
        await do(where, "launch", command=["code"])
    with pytest.raises(UsageError, match="cannot be split"):
        await do(where, "launch", command="ls 'a")


@pytest.mark.parametrize("kind", ["execute", "command"])
async def test_execute_fills_in_and_ignores_the_exit_status(tmp_path: Path, kind: str) -> None:
    machine = Machine({"^false": CommandResult(1, "no", "bad")}, programs="false sudo")
    where = context(tmp_path, machine)
    await do(where, kind, command="false", stdout="out.txt", stderr="err.txt")
    assert (where.scratch / "out.txt").read_text() == "no"
    assert (where.scratch / "err.txt").read_text() == "bad"
    await do(where, kind, command="echo {CLIENT_PASSWORD} | sudo {SCREEN_WIDTH}", shell=True)
    await do(where, kind, command=["sudo", "{SCREEN_WIDTH_HALF}x{SCREEN_HEIGHT_HALF}"])
    await do(where, kind, command=["a $1", "b"], shell=True)
    assert machine.lines[1:] == [
        "echo password | sudo 1280",
        "sudo 640x360",
        "/bin/sh -c 'a $1' b",
    ]


async def test_execute_reports_a_machine_without_the_program(tmp_path: Path) -> None:
    slow = CommandResult(-1, "", "", timed_out=True)
    lacks = CommandResult(1, "", "ModuleNotFoundError: No module named 'pyautogui'")
    machine = Machine({"sleep": slow, "for x": lacks}, programs="sleep python3")
    where = context(tmp_path, machine)
    with pytest.raises(EnvironmentFailed, match="no program"):
        await do(where, "execute", command=["nothere"])
    with pytest.raises(EnvironmentFailed, match="did not end"):
        await do(where, "execute", command="sleep 900")
    source = "import pyautogui\nfor x in (1, 2): pyautogui.press('a')"
    with pytest.raises(EnvironmentFailed, match="cannot run"):
        await do(where, "execute", command=["python", "-c", source])
    with pytest.raises(UsageError, match="plain file name"):
        await do(where, "execute", command="true", shell=True, stdout="../out")


async def test_python_that_only_acts_is_done_by_the_environment(tmp_path: Path) -> None:
    machine = Machine(programs="")
    source = "import pyautogui; import time; pyautogui.hotkey('ctrl', 's'); time.sleep(0.01)"
    await do(context(tmp_path, machine), "execute", command=["python", "-c", source])
    click = "import pyautogui; pyautogui.click({SCREEN_WIDTH_HALF}, {SCREEN_HEIGHT_HALF})"
    await do(context(tmp_path, machine), "execute", command=["python3", "-c", click])
    assert machine.lines == []
    keys, _, middle = machine.acted
    assert isinstance(keys, Hotkey)
    assert isinstance(middle, Click)
    assert middle.at is not None
    assert (getattr(middle.at, "x", 0), getattr(middle.at, "y", 0)) == (640, 360)


async def test_execute_waits_until_it_is_so(tmp_path: Path) -> None:
    class Growing(Machine):
        async def execute(self, *args: Any, **more: Any) -> CommandResult:
            await super().execute(*args, **more)
            return CommandResult(0, "ready" if len(self.lines) == 3 else "wait")

    machine = Growing()
    until = {"stdout": "ready"}
    await do(context(tmp_path, machine), "execute", command="status", shell=True, until=until)
    assert len(machine.lines) == 3


async def test_open_waits_for_the_window(tmp_path: Path) -> None:
    machine = Machine(windows=["My Sales - Calc"])
    await do(context(tmp_path, machine), "open", path="~/My Sales.xlsx")
    assert list_started(machine) == ["libreoffice --calc \"$HOME\"/'My Sales.xlsx'"]
    other = Machine(windows=["a.bin"], programs="xdg-open")
    await do(context(tmp_path, other), "open", path="/tmp/a.bin")
    assert list_started(other) == ["xdg-open /tmp/a.bin"]
    absent = context(tmp_path, Machine({"test -e": CommandResult(1, "")}))
    with pytest.raises(EnvironmentFailed, match="no such file"):
        await do(absent, "open", path="/a.xlsx")
    with pytest.raises(EnvironmentFailed, match="no program that opens"):
        await do(context(tmp_path, Machine(programs="")), "open", path="/a.xlsx")


TABS = [
    {"type": "page", "id": "1", "title": "New Tab", "url": "chrome://new-tab-page-third-party/"},
    {"type": "page", "id": "2", "title": "Page", "url": "https://www.example.org/"},
    {"type": "worker", "id": "3", "title": "", "url": "x"},
]


def browser(**more: Any) -> Machine:
    return Machine({"/json/list": CommandResult(0, json.dumps(TABS))}, **more)


def requests(machine: Machine) -> list[str]:
    return [" ".join(shlex.split(line)[-3:-1]) for line in machine.lines if "urllib" in line]


async def test_tabs_are_opened_and_the_empty_one_closed(tmp_path: Path) -> None:
    machine = browser()
    await do(context(tmp_path, machine), "chrome_open_tabs", urls_to_open=["https://a.org/?b=c d"])
    assert requests(machine) == [
        "GET /json/list",
        "PUT /json/new?https%3A%2F%2Fa.org%2F%3Fb%3Dc%20d",
        "GET /json/close/1",
    ]
    silent = context(tmp_path, Machine({"urllib": CommandResult(1, "", "refused")}))
    with pytest.raises(EnvironmentFailed, match="debugging port"):
        await do(silent, "chrome_open_tabs", urls_to_open=["https://a.org"])


def history(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE urls (id INTEGER PRIMARY KEY, url, title, visit_count, typed_count,"
            " last_visit_time, hidden)"
        )
        database.execute(
            "CREATE TABLE visits (id INTEGER PRIMARY KEY, url, visit_time, from_visit, transition,"
            " segment_id, visit_duration)"
        )
    return path.read_bytes()


async def test_visits_are_added_to_the_history(tmp_path: Path) -> None:
    where = context(tmp_path)
    place = "~/.config/chromium/Default/History"
    visit = {"url": "https://a.org", "title": "A", "visit_time_from_now_in_seconds": 60}
    with pytest.raises(EnvironmentFailed, match="no history file"):
        await do(where, "update_browse_history", history=[visit])
    await where.environment.write_file(place, b"not a database at all, not one")
    with pytest.raises(EnvironmentFailed, match="cannot be extended"):
        await do(where, "update_browse_history", history=[visit])
    await where.environment.write_file(place, history(tmp_path / "empty"))
    await do(where, "update_browse_history", history=[visit])
    (tmp_path / "after").write_bytes(await where.environment.read_file(place))
    with closing(sqlite3.connect(tmp_path / "after")) as database:
        cursor = database.execute(
            "SELECT urls.url, title, visit_time = last_visit_time FROM urls"
            " JOIN visits ON visits.url = urls.id"
        )
        assert cursor.fetchall() == [("https://a.org", "A", 1)]


async def test_a_window_that_never_comes_is_the_machines_failure_only_before_the_run(
    tmp_path: Path,
) -> None:
    machine = Machine(windows=["Form"])
    window = Named(window_name="Calc")
    with pytest.raises(EnvironmentFailed, match=r"no window titled 'Calc' .*'Form'"):
        await await_window(context(tmp_path, machine), window, 0.0)
    await do(context(tmp_path, machine, "score"), "activate_window", window_name="Calc")
    assert machine.lines == []
