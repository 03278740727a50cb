"""``hisa tools`` from the shell: a plug-in from nothing to a run, checks, calls, and many tools."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.tool_tokens import APPS, look_at, made_tools, offered_texts
from hisa.cli import cli
from hisa.errors import InvalidReply, UsageError
from hisa.events import Acted
from hisa.models.tokens import estimate_tokens
from hisa.plugins.toolkits.no_machine import NoMachine
from hisa.plugins.toolkits.tools_check import check_tool, run_examples
from hisa.plugins.toolkits.tools_new import check_name, install_command, write_plugin
from hisa.plugins.toolkits.tools_run import input_of_words
from hisa.runs.run_reader import load_run
from hisa.testing.form import FakeEnvironment
from hisa.testing.model_server import FakeServer, ReceivedRequest
from hisa.testing.scripted import tool_call
from hisa.tools.base import Tool, ToolContext
from hisa.tools.offer import TOOLS_ESTIMATE
from hisa.tools.registry import discover
from hisa.tools.tool_call import call_tool
from hisa.tools.traits import Needs, tool
from tests.cli.command import Command, endless

TASK = """instruction: Say how many lines ~/list.txt has, in ~/answer.txt.
setup:
  - write: {path: ~/list.txt, text: "milk\\n\\nbread\\n"}
check:
  - {file: ~/answer.txt, equals: 2 lines}
"""


class Shell:
    """A shell in a folder, with an environment of its own that needs no network."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        venv.create(folder / "venv", symlinks=True)
        here = [path for path in sys.path if path.endswith("site-packages")]
        (site,) = (folder / "venv").glob("lib/python*/site-packages")
        root = str(Path(__file__).parents[3])
        (site / "beside.pth").write_text("\n".join([*here, root]) + "\n")
        self.python = folder / "venv" / "bin" / "python"
        for name, module in (("hisa", "hisa"), ("pip", "pip")):
            program = self.python.with_name(name)
            program.write_text(f'#!/bin/sh\nexec {self.python} -m {module} "$@"\n')
            program.chmod(0o755)
        self.environ = {
            **Command(folder, url=url).environ,
            "PATH": f"{self.python.parent}:{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, line: str) -> str:
        result = subprocess.run(
            ["sh", "-c", line],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert result.returncode == 0, f"{line}\n{result.stdout}\n{result.stderr}"
        return result.stdout


def planner(received: ReceivedRequest) -> str:
    """A model that calls the plug-in, writes down what that said, and ends."""
    if received.role != "planner":
        return endless(received)
    text = received.text_by("user")
    if "answer.txt |" in text or "> ~/answer.txt" in text:
        return tool_call("termination", "The answer is in ~/answer.txt.")
    if "2 lines" in text:
        return tool_call("bash_execution", "printf '2 lines' > ~/answer.txt")
    return tool_call("word_count", {"path": "/home/user/list.txt", "blank": False})


@pytest.mark.desktop
def test_from_nothing_to_a_plugin_that_a_run_uses_in_five_commands(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(TASK)
    with FakeServer(then=planner) as server:
        shell = Shell(tmp_path, server.url)
        output = shell.run("hisa tools new word-count")
        install, check, *_ = [line.strip() for line in output.partition("next:\n")[2].splitlines()]
        assert install.endswith("-m pip install -e ./word-count --no-deps --no-build-isolation")
        shell.run(install)
        checked = shell.run(check)
        assert checked.startswith("ok      word_count")
        assert '{"path": "/etc/os-release"}: ok:' in checked
        ran = shell.run('hisa tools run word_count path="~/list.txt" --task task.yaml')
        assert ran == "3 lines\n"
        result = json.loads(shell.run("hisa run task.yaml --model served --json"))
    assert (result["status"], result["score"]) == ("succeeded", 1.0)
    events = load_run("latest", tmp_path / "runs").events
    acted = [event for event in events if isinstance(event, Acted)]
    assert [(event.tool, event.ok) for event in acted] == [
        ("word_count", True),
        ("bash_execution", True),
        ("termination", True),
    ]
    assert acted[0].output == "2 lines"
    offered = [r for r in server.requests if r.role == "planner"]
    assert "word_count" in offered[0].text, "with its arguments, or by name, as there is room"


def test_the_page_says_the_commands_that_work_without_the_build_backend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "hatchling" else find(name)
    )
    page = (Path(__file__).parents[3] / "docs" / "tools.md").read_text("utf-8")
    commands = page.partition("```console\n")[2].partition("```")[0].splitlines()
    assert commands[0] == "$ hisa tools new word-count"
    assert commands[1].endswith(install_command("./word-count").partition("pip ")[2])
    assert len(commands) == 5


@pytest.mark.process
def test_the_package_that_is_written_passes_its_own_test(tmp_path: Path) -> None:
    folder = write_plugin("word-count", tmp_path)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Word", "lower-case letters"),
        ("../up", "lower-case letters"),
        ("x" * 60, "at most 40"),
        ("", "lower-case letters"),
        ("json", "module 'json' already exists"),
        ("wait", "a tool 'wait' is already installed"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check_name(name)


def test_path_as_tool_name_is_refused() -> None:
    for command in ("run", "show"):
        with pytest.raises(UsageError, match="is a path, not a tool's name"):
            CliRunner().invoke(cli, ["tools", command, "../x y"], catch_exceptions=False)


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "word-count").mkdir()
    with pytest.raises(UsageError, match="already exists"):
        write_plugin("word-count", tmp_path)
    assert not list((tmp_path / "word-count").iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        write_plugin("word-count", tmp_path / "file" / "below")


# ---------------------------------------------------------------- check


@tool(reads=True, effects=("delete",), needs=Needs(apps=("Calc",)))
def the_wrong(anything: Any, number: int = 0) -> str:
    """The thing that this does is told in a great many more words than any of the prompts can show.

    Examples:
        {"anything": 1, "number": "many"}
        plain
    """
    return f"{anything}{number}"


def double(number: int) -> str:
    """Double a number.

    Examples:
        {"number": 4}
        5
        {"number": 13}
    """
    if number == 13:
        raise ValueError("thirteen is not doubled")
    return str(2 * number)


async def first_line(path: str, context: ToolContext) -> str:
    """Read the first line of a file."""
    return (await context.environment.read_file(path)).decode().splitlines()[0]


def test_every_problem_of_a_description_is_reported() -> None:
    problems = "\n".join(check_tool(Tool(the_wrong)).problems)
    for part in (
        "characters: prompts show 90",
        "argument 'anything': any value fits",
        "application 'Calc'",
        "only reads, but may delete",
        'example {"anything": 1, "number": "many"}',
        "example plain: not a JSON object",
    ):
        assert part in problems, (part, problems)
    assert not check_tool(Tool(double)).problems


async def test_examples_are_executed_and_each_failure_gives_its_reason() -> None:
    check = await run_examples(Tool(double), check_tool(Tool(double)), FakeEnvironment())
    assert check.results == (
        '{"number": 4}: ok: 8',
        "5: ok: 10",
        '{"number": 13}: failed: ValueError: thirteen is not doubled',
    )
    assert not check.ok


async def test_an_example_whose_application_is_not_open_is_not_run() -> None:
    tool = Tool(double, kit="calc", title="LibreOffice Calc", needs=Needs(apps=("calc",)))
    check = await run_examples(tool, check_tool(tool), FakeEnvironment())
    assert check.ok
    assert all("not run: needs LibreOffice Calc open" in result for result in check.results)


@pytest.mark.process
def test_check_reads_installed_tools(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    (row,) = hisa.json("tools", "check", "wait")["tools"]
    assert (row["name"], row["problems"], row["source"]) == ("wait", [], "hisa-agent")
    assert "no tool or toolkit" in hisa.run_refused("tools", "check", "nothing")


# ---------------------------------------------------------------- run


@pytest.mark.process
def test_a_tool_that_needs_no_machine_runs_without_one(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    assert hisa.run("tools", "run", "wait", "0") == ""
    result = hisa.json("tools", "run", "wait", '{"seconds": 0}')
    assert (result["ok"], result["error"]) == (True, "")
    assert "seconds" in hisa.run_refused("tools", "run", "wait", "seconds=-1")
    assert "similar names: wait" in hisa.run_refused("tools", "run", "wai")


@pytest.mark.desktop
def test_a_tool_acts_on_a_fresh_desktop(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    (tmp_path / "task.yaml").write_text(TASK)
    task = ("--task", str(tmp_path / "task.yaml"))
    assert hisa.run("tools", "run", "bash_execution", "cat ~/list.txt", *task) == "milk\n\nbread\n"
    failed = hisa.json("tools", "run", "bash_execution", "cat ~/list.txt", code=1)
    assert "No such file" in failed["error"]
    assert "grounder" in hisa.run_refused(
        "tools", "run", "gui_action", "pyautogui.click(X_COORD, Y_COORD)"
    )
    assert "pair" in hisa.run_refused("tools", "run", "gui_action", "pyautogui.click(X_COORD, 1)")


def several(path: str, numbers: list[int], *, deep: bool = False, name: str | None = None) -> str:
    """Take several values."""
    return f"{path} {numbers} {deep} {name}"


def test_words_of_a_command_line_become_an_input() -> None:
    several_tool = Tool(several)
    words = ["path=a=b", "numbers=[1, 2]", "deep=true", "name=12"]
    value = input_of_words(several_tool, words)
    assert value == {"path": "a=b", "numbers": [1, 2], "deep": True, "name": "12"}
    assert several_tool.arguments(value)
    assert input_of_words(several_tool, ['{"path": "x", "numbers": []}']) == {
        "path": "x",
        "numbers": [],
    }
    for wrong in (["plain"], ["path=a", "other=1"], ["[1]"]):
        with pytest.raises(InvalidReply, match="NAME=VALUE with the names path, numbers"):
            input_of_words(several_tool, wrong)
    assert input_of_words(Tool(double), ["4"]) == {"number": 4}


async def test_a_plugin_without_a_machine_hears_that_there_is_none() -> None:
    outcome = await call_tool(Tool(first_line), "/etc/passwd", NoMachine())
    assert outcome.error == "this tool was called without a machine"


# ---------------------------------------------------------------- many tools


def test_three_hundred_tools_stay_within_the_limit_of_a_prompt() -> None:
    tools = [*discover()[0], *made_tools(300)]
    named = {tool.name: tool for tool in tools}
    apps = set()
    for app, parts in offered_texts(tools):
        assert sum(map(estimate_tokens, parts)) <= TOOLS_ESTIMATE
        assert "more are not listed" in parts[1]
        apps.add(app)
        if app:
            line = parts[1].splitlines()[1].replace("_: ", "_")  # a toolkit's name stands once
            first = named[line.partition("(")[0]]
            assert first.traits.needs.in_front(look_at(app)), "what is in front comes first"
    assert apps == {"", *APPS}


@pytest.mark.process
def test_ls_takes_a_toolkit(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    assert {"gui_action", "wait"} <= {row["name"] for row in hisa.json("tools", "ls")["tools"]}
    assert "no toolkit 'nothing'" in hisa.run_refused("tools", "ls", "--kit", "nothing")
    assert hisa.run("tools", "ls").splitlines()[0] == "built in"
