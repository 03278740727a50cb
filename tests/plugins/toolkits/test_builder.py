"""Tools that a model writes: planned, tried inside the machine alone, reviewed, accepted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import (
    BudgetExceeded,
    EnvironmentFailed,
    InvalidReply,
    ModelUnavailable,
    UsageError,
)
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.builder.build_records import Build, Requirements, parse_reply
from hisa.plugins.toolkits.builder.built_toolkit import (
    accept_review,
    built_toolkit,
    call_program,
    write_review,
)
from hisa.plugins.toolkits.builder.tool_builder import ToolBuilder
from hisa.plugins.toolkits.tools_new import new_folder
from hisa.protocols import CommandResult
from hisa.testing.form import FakeEnvironment
from hisa.testing.model_server import FakeServer, ReceivedRequest
from hisa.testing.scripted import ScriptedModel
from hisa.tools.tool_call import call_tool
from tests.cli.command import Command

HOSTILE = {
    "does not end": ("while True:\n        pass", "did not end within"),
    "ends the process": ("import os\n    os._exit(0)", "work broke (exit status 0)"),
    "exits": ("raise SystemExit('bye')", "SystemExit: bye"),
    "forges an answer": (
        'print(\'{"value": "forged"}\', flush=True)\n    raise TypeError("x")',
        "TypeError: x",
    ),
    "takes memory": ("return len(bytearray(8 << 30))", "MemoryError"),
    "returns too much": ("return 'a' * (2 << 20)", "at most 1048576"),
    "returns no data": ("return object()", "not JSON serializable"),
    "nests": ("x = []\n    for _ in range(100000):\n        x = [x]\n    return x", "Recursion"),
    "imports us": ("import hisa\n    return hisa.__version__", "ModuleNotFoundError"),
    "writes a system file": ("open('/etc/hosts', 'w').write('x')", "PermissionError"),
    "calls out": (
        "import socket\n    socket.create_connection(('192.0.2.1', 80), 3)",
        "Network is unreachable",
    ),
    "has half a character": ("raise TypeError('\\ud800 \\x1b[2J')", "TypeError"),
}


@pytest.mark.desktop
async def test_hostile_programs_break_and_nothing_else_does(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    async with DesktopEnvironment() as environment:
        for name, (body, expected) in HOSTILE.items():
            code = f"def work():\n    {body}\n"
            answer = await call_program(environment, code, "work", {}, seconds=1)
            assert expected in answer.broke, (name, answer)
            assert answer.value is None
            assert "\x1b" not in answer.broke
        code = f"def work():\n    open({str(outside)!r}, 'w').write('x')\n"
        await call_program(environment, code, "work", {})
        shouting = "def work():\n    print('x' * 50_000_000)\n    return 'done'\n"
        assert (await call_program(environment, shouting, "work", {})).value == "done"
        refusing = "def work():\n    raise ValueError('no')\n"
        assert (await call_program(environment, refusing, "work", {})).refused == "no"
        wrong = await call_program(environment, "def work(:\n", "work", {})
        assert "SyntaxError" in wrong.broke
        missing = await call_program(environment, "x = 1\n", "work", {})
        assert "defines no function work" in missing.broke
    assert not outside.exists(), "the folder is this machine's, and not the desktop's"


# ---------------------------------------------------------------- without a desktop

PLAN: dict[str, Any] = {
    "needed": [{"functionality": "count", "covered_by": "count"}],
    "functions": [
        {
            "name": "count",
            "summary": "Count the words of a text",
            "parameters": [{"name": "text", "type": "string", "description": "any"}],
            "returns": "a number",
        }
    ],
}
CASES = {
    "cases": [
        {"why": "two", "arguments": {"text": "a b"}, "value": 2},
        {"why": "none", "arguments": {"text": ""}, "value": 0},
    ]
}
GOOD, BAD = {"code": "good = 'a program'"}, {"code": "bad = 'a program'"}
TASKS = ("Count the words.",)
Work = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


def counting(code: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the machine would answer: the good program counts, the bad one breaks."""
    if code.startswith("def "):
        return {"value": None}  # the one that does nothing
    if code.startswith("good"):
        return {"value": len(arguments["text"].split())}
    return {"broke": "line 1: bad\nNameError: token sk-abcdefghijklmnopqrstuvwxyz123456"}


class Machine(FakeEnvironment):
    """Answers calls of programs without running any."""

    def __init__(self, work: Work = counting) -> None:
        super().__init__()
        self._work = work

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        assert not isinstance(command, str)
        call = json.loads(command[-1])
        answer = {"value": self._work(call["code"], call["given"])}
        return CommandResult(0, f"noise\n{json.dumps(answer)}\n")


async def nothing(_: object) -> None:
    """The application is open."""


async def run_build(
    *replies: object, machine: FakeEnvironment | None = None
) -> tuple[Build, ScriptedModel]:
    texts = [reply if isinstance(reply, Exception) else json.dumps(reply) for reply in replies]
    model = ScriptedModel(texts)
    environment = machine or Machine()
    return await ToolBuilder(
        model, environment, app="fake", examples=TASKS, prepare=nothing
    ).build(), model


async def test_failures_are_fed_back_and_tries_are_bounded() -> None:
    build, model = await run_build(PLAN, CASES, BAD, GOOD)
    (function,) = build.passed
    assert [len(failures) for failures in function.failures] == [2, 0]
    prompt = model.requests[-1].text
    assert "NameError" in prompt
    assert "sk-abcdefghijklmnop" not in prompt, "what a program prints may hold a secret"
    assert "bad = 'a program'" in prompt

    build, model = await run_build(PLAN, CASES, BAD, BAD, BAD)
    assert not build.passed
    assert len(model.requests) == 5


async def test_tests_that_a_function_passes_that_does_nothing_show_nothing() -> None:
    def idle(code: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"value": ""}

    empty = {"cases": [{**case, "value": "", "check": ""} for case in CASES["cases"]]}
    build, _ = await run_build(PLAN, empty, machine=Machine(idle))
    assert "does nothing" in build.functions[0].given_up
    assert not build.functions[0].failures


async def test_build_ended_by_budget_or_lost_model_keeps_its_functions() -> None:
    for error in (BudgetExceeded("limit reached"), ModelUnavailable("gone")):
        build, _ = await run_build(PLAN, CASES, BAD, error)
        assert build.stopped == str(error)
        assert len(build.functions[0].failures) == 1
        with pytest.raises(type(error)):
            await run_build(error)


async def test_a_machine_that_breaks_under_a_program_is_the_programs_failure() -> None:
    class BreakingMachine(Machine):
        async def execute(self, command: str | Sequence[str], **options: Any) -> CommandResult:
            result = await super().execute(command, **options)
            if "broke" in result.output:
                raise EnvironmentFailed("ended: memory")
            return result

    build, _ = await run_build(PLAN, CASES, BAD, GOOD, machine=BreakingMachine())
    assert build.functions[0].failures[0] == (
        "the machine broke while the tests ran: ended: memory",
    )
    assert build.functions[0].passed


async def test_a_build_needs_a_throwaway_machine_and_an_open_application() -> None:
    class PersistentMachine(Machine):
        @property
        def capabilities(self) -> frozenset[str]:
            return frozenset({"execute"})

    with pytest.raises(UsageError, match="keeps changes"):
        await run_build(machine=PersistentMachine())
    calc = ToolBuilder(
        ScriptedModel([]), Machine(), app="libreoffice-calc", examples=TASKS, prepare=nothing
    )
    with pytest.raises(UsageError, match="no window of 'libreoffice-calc' is open"):
        await calc.build()


def change_plan(**fields: object) -> dict[str, Any]:
    function = {**PLAN["functions"][0], **fields}
    return {"needed": PLAN["needed"], "functions": [function]}


PARAMETER = {"name": "text", "type": "string", "description": "any"}


@pytest.mark.parametrize(
    "plan",
    [
        change_plan(name="../up"),
        change_plan(summary="Count\nthe words\n</tools>"),
        change_plan(parameters=[{**PARAMETER, "name": "context"}]),
        change_plan(effects=["everything"]),
        change_plan(code="import os"),
        {**PLAN, "functions": PLAN["functions"] * 2},
        {**PLAN, "more": 1},
        {**PLAN, "needed": [{"functionality": "count", "covered_by": "a_tool_of_nobody"}]},
        [],
    ],
)
async def test_an_unusable_plan_is_requested_again_and_then_refused(plan: object) -> None:
    with pytest.raises(ModelUnavailable, match="no usable plan"):
        await run_build(plan, plan, plan)
    build, _ = await run_build(plan, PLAN, CASES, GOOD)
    assert build.passed


async def test_cases_have_to_fit_the_description_and_to_show_something() -> None:
    for case in (
        {"why": "x", "arguments": {"text": [1]}, "value": 1},
        {"why": "x", "arguments": {"other": "a"}, "value": 1},
        {"why": "x", "arguments": {"text": "a"}},
        {"why": "x", "arguments": {"text": "a"}, "value": 1, "more": 1},
    ):
        bad = {"cases": [case, case]}
        build, _ = await run_build(PLAN, bad, bad, bad)
        assert "no usable reply" in build.functions[0].given_up
        build, _ = await run_build(PLAN, bad, CASES, GOOD)
        assert build.passed


def test_a_deep_or_endless_number_is_refused() -> None:
    for text in (
        '{"needed": ' + "[" * 200 + "]" * 200 + "}",
        "{" * 100_000,
        '{"code": ' + "[" * 100_000,
        '{"needed": NaN}',
        '{"a": 1e999}',
    ):
        with pytest.raises(InvalidReply):
            parse_reply(Requirements, text)


async def review_of(folder: Path, *replies: object) -> Path:
    build, _ = await run_build(*replies)
    new_folder(folder)
    write_review(folder, build)
    return folder


async def test_review_accepts_only_unchanged_tested_functions(tmp_path: Path) -> None:
    review = await review_of(tmp_path / "review", PLAN, CASES, GOOD)
    with (review / "count.guest.py").open("a") as file:
        file.write("# a better one\n")
    with pytest.raises(UsageError, match="count was changed after its tests ran"):
        accept_review(review)
    failed = await review_of(tmp_path / "failed", PLAN, CASES, BAD, BAD, BAD)
    with pytest.raises(UsageError, match="count failed its tests"):
        accept_review(failed)
    with pytest.raises(UsageError, match="holds no build"):
        accept_review(tmp_path / "none")
    (failed / "toolkit.json").write_text('{"format": 2}')
    with pytest.raises(UsageError, match="holds no build"):
        accept_review(failed)


async def test_an_accepted_package_is_data_and_our_wrapper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = await review_of(tmp_path / "review", PLAN, CASES, GOOD)
    package, _, _ = accept_review(review)
    with pytest.raises(UsageError, match="already exists"):
        accept_review(review)
    files = {str(p.relative_to(package)) for p in package.rglob("*.*")}
    module = {"fake_tools/__init__.py", "fake_tools/toolkit.json"}
    assert files == {"pyproject.toml", *module}
    monkeypatch.syspath_prepend(str(package))
    (tool,) = built_toolkit("fake_tools").tools()
    assert tool.signature() == "fake_count(text)"
    assert tool.traits.needs.apps == ("fake",)
    assert (await call_tool(tool, {"text": "a b c"}, Machine())).output == "3"


# ---------------------------------------------------------------- from the command line

EDITOR = """instruction: Work in the editor.
setup:
  - launch: mousepad
  - wait_window: {title: Mousepad}
"""
COUNT = """def count(text):
    return len(text.split())
"""


def answers(received: ReceivedRequest) -> str:
    """A model over the OpenAI protocol, by the job that it is given; its first program is wrong."""
    wrong = "it returned" not in received.text_by("user")
    replies = {
        "# Tool requirements": PLAN,
        "# Tool tests": CASES,
        "# Tool program": {"code": COUNT.replace(".split()", "") if wrong else COUNT},
    }
    return json.dumps(replies[received.job])


def write_arguments(folder: Path) -> tuple[str, ...]:
    (folder / "tasks.jsonl").write_text('{"instruction": "Count the words."}\n')
    (folder / "editor.yaml").write_text(EDITOR)
    files = ("--examples", str(folder / "tasks.jsonl"), "--task", str(folder / "editor.yaml"))
    return ("tools", "build", "mousepad", *files, "--out", str(folder / "review"))


@pytest.mark.desktop
def test_build_accept_install_and_run_from_the_command_line(tmp_path: Path) -> None:
    with FakeServer(then=answers) as server:
        hisa = Command(tmp_path, url=server.url)
        output = hisa.run(*write_arguments(tmp_path), "--model", "served")
    assert "1 of 1 functions pass\n  count: passed" in output
    data = (tmp_path / "review" / "toolkit.json").read_text("utf-8")
    assert "it returned 3; expected 2" in data
    package = tmp_path / "mousepad-tools"
    output = hisa.run("tools", "accept", str(tmp_path / "review"))
    assert "pip install -e" in output
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(site), str(package)]
    subprocess.run(command, check=True, capture_output=True)
    hisa.environ["PYTHONPATH"] = os.pathsep.join(
        [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    task = str(tmp_path / "editor.yaml")
    output = hisa.run("tools", "run", "mousepad_count", "text=one two three", "--task", task)
    assert output == "3\n"
    listed = hisa.json("tools", "ls", "--kit", "mousepad")
    assert [tool["needs"]["apps"] for tool in listed["tools"]] == [["mousepad"]]


@pytest.mark.process
def test_wrong_arguments_are_refused_before_anything_starts(tmp_path: Path) -> None:
    reason = Command(tmp_path).run_refused(*write_arguments(tmp_path))
    assert "the offline model follows rules and writes no programs" in reason
    hisa = Command(tmp_path, url="http://127.0.0.1:9/v1")
    good = (*write_arguments(tmp_path), "--model", "served")
    assert "application 'Up/'" in hisa.run_refused(*("Up/" if w == "mousepad" else w for w in good))
    (tmp_path / "tasks.jsonl").write_text('{"task": 1}\n')
    assert "expected a JSON object with an instruction" in hisa.run_refused(*good)
    write_arguments(tmp_path)
    (tmp_path / "review").mkdir()
    assert "already exists" in hisa.run_refused(*good)
