"""Tools are functions described once; built-ins and an outside package use the same door."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hisa.actions import parse
from hisa.errors import DeveloperError, InvalidReply
from hisa.protocols import CommandResult, GroundedCall, Outcome, ToolCall
from hisa.screen.geometry import Point
from hisa.testing.form import FakeEnvironment
from hisa.text.prompt_text import ends
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution, gui_action, wait
from hisa.tools.registry import ToolRegistry, discover


def repeat(text: str, times: int = 2) -> str:
    """Repeat a text."""
    return text * times


def broken(text: str) -> str:
    """Fail."""
    raise RuntimeError(f"cannot do {text}")


def call(tool: str, value: object, source: str = "") -> GroundedCall:
    actions = parse(source) if source else ()
    return GroundedCall(ToolCall("", tool, value, actions=actions), value, actions)  # type: ignore[arg-type]


class Bench:
    def __init__(self, *functions: object) -> None:
        tools = [Tool(f) for f in functions]  # type: ignore[arg-type]
        self.registry = ToolRegistry(tools)
        self.environment = FakeEnvironment(
            commands={"true": CommandResult(0, "fine\n"), "false": CommandResult(1, "", "bad")}
        )

    async def run(self, grounded: GroundedCall) -> Outcome:
        observation = await self.environment.observe()
        return await self.registry.execute(grounded, observation, self.environment)


async def test_gui_actions_reach_the_environment_in_screen_pixels() -> None:
    bench = Bench(gui_action)
    event = await bench.run(call("gui_action", "…", "pyautogui.click(10, 20)"))
    assert event.ok
    assert event.points == (Point(10, 20, "image"),)
    assert len(bench.environment.acted) == 1


async def test_commands_report_their_exit_status() -> None:
    bench = Bench(bash_execution)
    good = await bench.run(call("bash_execution", "true"))
    bad = await bench.run(call("bash_execution", "false"))
    assert (good.ok, good.output, good.exit_code) == (True, "fine\n", 0)
    assert (bad.ok, bad.error, bad.exit_code) == (False, "bad", 1)


async def test_command_output_keeps_its_start_and_end() -> None:
    bench = Bench(bash_execution)
    long = "".join(f"line {number}\n" for number in range(100_000))
    bench.environment = FakeEnvironment(
        commands={"build": CommandResult(2, long, long + "ld: no such library\n")}
    )
    event = await bench.run(call("bash_execution", "build"))
    assert event.output.startswith("line 0\n")
    assert len(event.output) < 8200
    assert event.output.endswith("there may be more …\n"), "no more than a megabyte is read"
    bench.environment = FakeEnvironment(
        commands={"build": CommandResult(2, long[:500_000], long[:500_000] + "ld: no library\n")}
    )
    event = await bench.run(call("bash_execution", "build"))
    assert event.error.endswith("ld: no library\n"), "what went wrong stands last"
    assert event.output.endswith(long[:500_000][-100:])
    shortened = ends(event.output, 2000)
    first, last = shortened.split("\n… ")[0], shortened.split(" characters left out …\n")[-1]
    assert f"… {500_000 - len(first) - len(last)} characters left out …" in shortened


async def test_plugin_error_becomes_a_failed_outcome() -> None:
    event = await Bench(broken).run(call("broken", "this"))
    assert (event.ok, event.error) == (False, "RuntimeError: cannot do this")


async def test_several_arguments_come_as_an_object() -> None:
    assert (await Bench(repeat).run(call("repeat", {"text": "ab", "times": 3}))).output == "ababab"
    assert (await Bench(repeat).run(call("repeat", '{"text": "ab"}'))).output == "abab"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("nothing", "x", "known: repeat, tool_help, wait"),
        ("repeat", {"text": "a", "more": 1}, "more"),
        ("repeat", "plain", "object"),
        ("repeat", {"text": "a", "times": "many"}, "times"),
        ("wait", "-1", "seconds"),
        ("wait", "nan", "seconds"),
        ("wait", "1e9", "seconds"),
        ("wait", {}, "seconds"),
    ],
)
def test_a_wrong_name_or_input_is_refused_without_acting(
    name: str, value: object, reason: str
) -> None:
    bench = Bench(repeat, wait)
    with pytest.raises(InvalidReply, match=reason):
        bench.registry.check(ToolCall("", name, value))  # type: ignore[arg-type]
    assert not bench.environment.acted


def test_a_tool_needs_types_and_words() -> None:
    with pytest.raises(DeveloperError, match="docstring"):
        Tool(lambda text: text)

    def repeat_untyped(text) -> str:  # type: ignore[no-untyped-def]
        """Do."""
        return str(text)

    with pytest.raises(DeveloperError, match="'text' has no type"):
        Tool(repeat_untyped)


def test_the_examples_in_the_documentation_are_accepted_by_the_parser() -> None:
    lines = [line.strip() for line in Tool(gui_action).documentation.splitlines()]
    examples = [line for line in lines if line.startswith("pyautogui.")]
    assert examples
    for example in examples:
        assert parse(example)


@pytest.mark.process
async def test_an_outside_package_adds_tools(outside: Path) -> None:
    tools, bad = discover()
    names = {tool.name: tool for tool in tools}
    assert names["count_words"].source == "hisa-example-tools"
    assert names["wait"].source == "hisa-agent"
    assert [plugin.name for plugin in bad] == ["broken_tool"]
    assert "needs a library" in bad[0].traceback

    environment = FakeEnvironment()
    await environment.write_file("/tmp/a.txt", b"one two three")
    observation = await environment.observe()
    registry = ToolRegistry(tools)
    outcome = await registry.execute(
        call("count_words", {"path": "/tmp/a.txt"}), observation, environment
    )
    assert outcome.output == "3 words"


@pytest.mark.process
def test_the_command_line_lists_outside_tools_and_names_broken_ones(outside: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(outside)}
    listed = subprocess.run(
        [sys.executable, "-m", "hisa", "tools", "ls", "--json"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(listed.stdout)
    assert "count_words" in [tool["name"] for tool in report["tools"]]
    assert report["broken"][0]["name"] == "broken_tool"
    shown = subprocess.run(
        [sys.executable, "-m", "hisa", "tools", "show", "broken_tool"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 2
    assert "needs a library" in shown.stderr
