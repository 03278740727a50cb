"""A setup is verified: what it starts runs, what it puts is there, what it needs is had."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import ActionRefused, EnvironmentFailed, UsageError
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.protocols import CommandResult, Task
from hisa.tasks import program_start
from hisa.tasks.scorer import TaskScorer
from hisa.testing.scripted import ScriptedModel
from tests.bench import Bench
from tests.plugins.benchmarks.tasks.machine import Machine, at_once, offline
from tests.tasks.host import Host

pytestmark = pytest.mark.process


async def prepare(folder: Path, *setup: Any, machine: Machine | None = None, **more: Any) -> Host:
    host = machine or Host(folder / "home")
    task = Task(id="t", instruction="x", setup=setup, folder=str(folder), **more)
    pause = asyncio.sleep if isinstance(host, Host) else at_once
    scorer = TaskScorer(cache=FileCache(folder / "cache", offline), pause=pause)
    await scorer.prepare(task, host)
    return host  # type: ignore[return-value]


def build_launch(*words: str) -> dict[str, Any]:
    return {"type": "launch", "parameters": {"command": list(words)}}


def stub(home: Path, name: str, text: str) -> str:
    """A program of the home's folder "bin"; gives the PATH that finds it."""
    path = home / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return f"{path.parent}:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        (
            build_launch("sh", "-c", "echo cannot open display >&2; exit 1"),
            "with 1: cannot open disp",
        ),
        ({"launch": "sh -c 'echo gone; exit 3'"}, "ended at once with 3: gone"),
        ({"launch": "no-such-program-here x"}, "no-such-program-here: command not found"),
        ({"launch": "sh -c 'exit 0'"}, "ended at once with 0 and opened no window"),
    ],
)
async def test_program_that_dies_fails_the_setup(tmp_path: Path, setup: Any, message: str) -> None:
    host = Host(tmp_path / "home")
    with pytest.raises(EnvironmentFailed, match=message) as caught:
        await prepare(tmp_path, {"run": "true"}, setup, machine=host)
    assert "setup step 2 of task 't'" in str(caught.value)
    assert host.lines[-1].startswith("rm -rf /tmp/.hisa-started-")


async def test_an_application_that_hands_over_must_show_its_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_start, "_WINDOW_SECONDS", 0.5)
    home = tmp_path / "home"
    path = stub(home, "code", "exit 0")
    with pytest.raises(EnvironmentFailed, match="opened no window"):
        await prepare(tmp_path, build_launch("code"), machine=Host(home, PATH=path))
    await prepare(
        tmp_path, build_launch("code", "--install-extension", "x"), machine=Host(home, PATH=path)
    )
    (home / "windows").write_text("a.py - Visual Studio Code\n")
    await prepare(tmp_path, build_launch("code"), machine=Host(home, PATH=path))


@pytest.mark.parametrize(
    ("last", "waited"),
    [
        ("code /home/user/a.py", True),
        ("if false; then\n  code /home/user/a.py\nfi", False),
        ("# code /home/user/a.py", False),
    ],
)
async def test_setup_waits_for_windows_that_a_script_line_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, waited: bool
) -> None:
    """Published scripts end once they have handed over; the window comes later."""
    monkeypatch.setattr(program_start, "_WINDOW_SECONDS", 20.0)
    home = tmp_path / "home"
    late = "(sleep 1; echo a.py - Visual Studio Code >~/windows) >/dev/null 2>&1 &"
    path = stub(home, "code", late)
    (tmp_path / "init.sh").write_text(f"{last}\n")
    parameters = {"src": "init.sh", "dest": str(home / "init.sh")}
    step = {"type": "script_and_execute", "parameters": parameters}
    await prepare(tmp_path, step, machine=Host(home, PATH=path))
    assert (home / "windows").exists() is waited


SCRIPT = "exec 1>/dev/null\nexec 2>/dev/null\n"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("no-such-tool --now\ntrue\n", "line 3: no-such-tool: command not found"),
        ("f() { no-such-tool; }\nf &\nwait\nexit 0\n", "line 3: no-such-tool: command not found"),
        ("cd ~/nowhere\npwd\n", "line 3: ended with 1: cd ~/nowhere"),
        ("touch ~/there\nexit 4\n", "the script gave up with 4: exit 4"),
        ("set -e\ngrep -q nothing ~/nowhere\ntrue\n", "the script gave up with 2: grep"),
        ("/etc/passwd\ntrue\n", "line 3: ended with 126: /etc/passwd"),
    ],
)
async def test_script_cannot_hide_a_failed_command(
    tmp_path: Path, script: str, message: str
) -> None:
    (tmp_path / "init.sh").write_text(f"{SCRIPT}{script}")
    with pytest.raises(EnvironmentFailed) as caught:
        await run_script(tmp_path)
    assert f"init.sh: {message}" in str(caught.value).replace(
        "init.sh: line 4: f", "init.sh: line 3: f"
    )


@pytest.mark.parametrize(
    "script",
    [
        "grep -q nothing /etc/passwd\nmkdir -p ~/a\n",
        "if no-such-tool; then true; fi\nno-such-tool || true\n! no-such-tool\n",
        "while no-such-tool; do true; done\nrm ~/nowhere\n",
        "command -v no-such-tool\nyes | head -1\ntest -e ~/nowhere\n",
        "mv ~/nowhere . || touch ~/there\n",
        "conda activate dbt\nmkdir -p ~/a\n",
    ],
)
async def test_expected_command_failures_in_a_script_are_ignored(
    tmp_path: Path, script: str
) -> None:
    (tmp_path / "init.sh").write_text(f"{SCRIPT}{script}")
    host = await run_script(tmp_path)
    listing = await host.execute("ls -d /tmp/.hisa-trace-* /tmp/.hisa-told-* 2>/dev/null")
    assert str(host.home) not in listing.output
    assert "BASH_ENV" not in (await host.execute("env")).output


async def run_script(folder: Path) -> Host:
    host = Host(folder / "home")
    step = {"type": "script_and_execute", "parameters": {"src": "init.sh"}}
    step["parameters"]["dest"] = str(host.home / "init.sh")  # type: ignore[index]
    return await prepare(folder, step, machine=host)


class Careless(Host):
    """A machine that loses the end of what is written to it."""

    def __init__(self, home: Path, stored_bytes: int | None) -> None:
        super().__init__(home)
        self._stored_bytes = stored_bytes

    async def write_file(self, path: str, data: bytes, /) -> None:
        if self._stored_bytes is not None:
            await super().write_file(path, data[: self._stored_bytes])


@pytest.mark.parametrize(
    ("stored_bytes", "message"),
    [(3, "5 bytes were written but 3 are there"), (None, "is not there")],
)
async def test_incomplete_file_fails_the_setup(
    tmp_path: Path, stored_bytes: int | None, message: str
) -> None:
    (tmp_path / "a.txt").write_text("hello")
    step: Any
    for step in (
        {"write": {"path": "~/a b.txt", "text": "hello"}},
        {
            "type": "copyfile_from_host_to_guest",
            "parameters": {"src": "a.txt", "dest": "~/a b.txt"},
        },
    ):
        with pytest.raises(EnvironmentFailed, match=message):
            await prepare(tmp_path, step, machine=Careless(tmp_path / "home", stored_bytes))
        (await prepare(tmp_path, step)).home.joinpath("a b.txt").unlink()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"setup": [build_launch("vlc", "a.mp4")]}, "VLC (package vlc)"),
        (
            {"setup": [{"type": "open", "parameters": {"path": "/a/b.PPTX"}}]},
            "Impress (package libreoffice-impress)",
        ),
        (
            {"apps": ("jupyter", "os", "excel")},
            "Calc (package libreoffice-calc), Jupyter (package jupyter)",
        ),
    ],
)
async def test_a_missing_application_is_named_before_anything_is_done(
    tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    host = Host(
        tmp_path / "home", PATH=stub(tmp_path / "home", "echo", "")[: -len(":/usr/bin:/bin")]
    )
    host.lines.clear()
    setup = more.pop("setup", [])
    with pytest.raises(EnvironmentFailed) as caught:
        await prepare(tmp_path, {"run": "touch ~/begun"}, *setup, machine=host, **more)
    assert f"task 't' needs {message}, which fake does not have" in str(caught.value)
    assert caught.value.fix.startswith("on the machine: apt-get install ")
    assert not (host.home / "begun").exists()


class Refusing(Machine):
    """A machine that knows no key and gives folders for files."""

    async def act(self, actions: Any, /) -> None:
        raise ActionRefused("unknown key 'dance'")

    async def write_file(self, path: str, data: bytes, /) -> None:
        raise PermissionError(f"{path}: not yours")


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        (
            {
                "type": "execute",
                "parameters": {
                    "command": ["python", "-c", "import pyautogui; pyautogui.press('a')"]
                },
            },
            EnvironmentFailed,
            "unknown key",
        ),
        ({"write": {"path": "/a", "text": "x"}}, EnvironmentFailed, "not yours"),
        ({"run": "no-such"}, EnvironmentFailed, "ended with 1"),
        ({"type": "launch", "parameters": {"command": "ls 'a"}}, UsageError, "cannot be split"),
    ],
)
async def test_every_failure_of_a_setup_says_its_step_and_is_never_a_score(
    tmp_path: Path, step: Any, error: type[Exception], message: str
) -> None:
    machine = Refusing({"no-such": CommandResult(1, "")})
    with pytest.raises(error, match=f"setup step 1 of task 't': .*{message}"):
        await prepare(tmp_path, step, machine=machine)


async def test_a_setup_that_is_called_off_leaves_nothing_of_its_own(tmp_path: Path) -> None:
    class Waiting(Host):
        reached = asyncio.Event()

        async def execute(
            self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
        ) -> CommandResult:
            if command == "sleep 5":
                self.reached.set()
            return await super().execute(command, timeout=timeout, limit=limit)

    host = Waiting(tmp_path / "home")
    task = asyncio.create_task(
        prepare(
            tmp_path,
            {"launch": "sh -c 'echo Form >~/windows; sleep 5'"},
            {"run": "sleep 5"},
            machine=host,
        )
    )
    await asyncio.wait_for(host.reached.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert host.lines[-1].startswith("rm -rf /tmp/.hisa-started-")


async def test_a_run_whose_setup_fails_has_no_score_and_asks_no_model(tmp_path: Path) -> None:
    planner = ScriptedModel([])
    bench = Bench(tmp_path / "run", planner, environment=Host(tmp_path / "home"))
    check = {"all": [{"file": "~/list.txt", "contains": "milk"}]}
    dies = {"launch": "sh -c 'echo no display; exit 3'"}
    task = Task(id="t", instruction="x", setup=(dies,), check=check, folder=str(tmp_path))
    result = await bench.agent.run(task)
    assert (result.status, result.score, result.steps) == ("environment_error", None, 0)
    assert "setup step 1 of task 't'" in result.message
    assert "no display" in result.message
    assert planner.requests == []
