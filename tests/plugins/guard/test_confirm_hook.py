"""A person is asked before what may change their machine, and before nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import hisa
from hisa.actions import Click, Move, Write
from hisa.environments.confirmation import Answer, Question
from hisa.errors import ActionRefused, UsageError
from hisa.events import Confirmed
from hisa.protocols import CommandResult, Task
from hisa.screen.geometry import Point
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import ScriptedModel, tool_call
from hisa.tools.base import ToolContext
from hisa.tools.traits import tool
from hisa.wiring.hook_list import scorer_on
from tests.plugins.guard.steps import HandMade, Person, answers, hook_names, start_run
from tests.plugins.guard.test_runs import OwnMachine

ALWAYS = {"run": {"confirm": "always"}, "policy": {"defaults": "never"}}


def read_confirmations(run: HandMade) -> list[bool]:
    return [event.allowed for event in run.events if isinstance(event, Confirmed)]


@pytest.mark.parametrize(
    ("confirm", "machine", "takes_part"),
    [
        ("auto", FakeEnvironment(), False),
        ("auto", OwnMachine(), True),
        ("always", FakeEnvironment(), True),
        ("never", OwnMachine(), False),
    ],
)
async def test_hook_takes_part_where_settings_and_machine_need_it(
    confirm: str, machine: FakeEnvironment, takes_part: bool, tmp_path: Path
) -> None:
    sections = {"run": {"confirm": confirm}, "policy": {"defaults": "never"}}
    run = await start_run(tmp_path, machine, ask=answers(), **sections)
    assert hook_names(run.hooks) == ["held_acts", *["confirm"] * takes_part]


async def test_acts_and_commands_are_shown_as_they_are(tmp_path: Path) -> None:
    person = answers(*["once"] * 3)
    run = await start_run(tmp_path, OwnMachine(), ask=person, **ALWAYS)
    await run.call("gui_action", "pyautogui.moveTo(5, 6); pyautogui.click(5, 6)")
    await run.call("bash_execution", "ls  ~/a")
    await run.call("switch_window", "0x1")
    assert person.questions == [
        Question("acts", "pyautogui.moveTo(5, 6)\npyautogui.click(5, 6)"),
        Question("commands", "$ ls  ~/a"),
        Question("commands", "switch_window 0x1"),
    ]


async def test_call_that_changes_nothing_needs_no_approval(tmp_path: Path) -> None:
    person = answers()
    run = await start_run(tmp_path, OwnMachine(), ask=person, **ALWAYS)
    for name in ("wait", "termination", "infeasible", "person_ask", "person_hand_over"):
        assert await run.call(name, "1") == []
    assert person.questions == []


async def test_a_refusal_says_so_in_the_persons_words(tmp_path: Path) -> None:
    person = Person([Answer("refuse", "use the menu instead"), Answer("once")])
    run = await start_run(tmp_path, OwnMachine(), ask=person, **ALWAYS)
    (refusal,) = await run.call("gui_action", "pyautogui.write('x')")
    assert "says “use the menu instead”: " in refusal
    assert await run.call("gui_action", "pyautogui.write('y')") == []
    assert read_confirmations(run) == [False, True]


async def test_stop_answer_ends_the_run(tmp_path: Path) -> None:
    run = await start_run(tmp_path, OwnMachine(), ask=answers("stop"), **ALWAYS)
    with pytest.raises(asyncio.CancelledError):
        await run.call("bash_execution", "ls")


async def test_approval_for_the_run_covers_a_single_kind_of_act(tmp_path: Path) -> None:
    person = answers("kind", "refuse")
    run = await start_run(tmp_path, OwnMachine(), ask=person, **ALWAYS)
    for _ in range(3):
        assert await run.call("bash_execution", "ls") == []
    assert len(await run.call("gui_action", "pyautogui.write('x')")) == 1
    assert [question.action for question in person.questions] == ["commands", "acts"]


async def test_press_needs_approval_and_its_retry_does_not(tmp_path: Path) -> None:
    person = answers("once", "refuse")
    run = await start_run(tmp_path, OwnMachine(), ask=person, **ALWAYS)
    await run.call("gui_action", "pyautogui.click(5, 6); pyautogui.click(50, 60)")
    assert [question.subject for question in person.questions] == [
        "pyautogui.click(5, 6)",
        "pyautogui.click(50, 60)",
    ]
    first = run.step_made.actions[0]
    first.changed = "the screen changed"
    await run.hooks.call("before_action", run.step_made, first, again=True)
    assert len(person.questions) == 2


async def test_approval_for_the_policy_is_enough(tmp_path: Path) -> None:
    person = answers("once")
    run = await start_run(tmp_path, OwnMachine(), ask=person, run={"confirm": "always"})
    assert hook_names(run.hooks) == ["held_acts", "policy", "confirm"]
    assert await run.call("bash_execution", "rm a.txt") == []
    assert [question.action for question in person.questions] == ["policy"]


class Writing:
    """A scorer that acts on the machine as set-ups and checks do."""

    def __init__(self) -> None:
        self.output = ""

    async def prepare(self, task: object, environment: FakeEnvironment) -> object:
        await environment.write_file("/tmp/x", b"123")
        await environment.act([Move(Point(5, 6, "screen")), Write("x")])
        self.output = (await environment.execute(["ls", "-l"])).output
        await environment.observe()
        return task

    async def over(self, task: object, environment: FakeEnvironment) -> str:
        return ""

    async def score(self, task: object, environment: FakeEnvironment, status: str) -> object:
        await environment.act([Click(Point(5, 6, "screen"))])
        return None


async def test_a_set_up_and_a_check_ask_before_each_thing_they_do(tmp_path: Path) -> None:
    inner = FakeEnvironment(commands={"ls -l": CommandResult(0, "a")})
    person = answers("once", "once", "once", "refuse")
    run = await start_run(tmp_path, inner, ask=person, **ALWAYS)
    inside: object = Writing()
    scorer = scorer_on(inside, run.hooks, inner)  # type: ignore[arg-type]
    await scorer.prepare(run.run.task, inner)
    assert inner.acted == [Move(Point(5, 6, "screen")), Write("x")]
    with pytest.raises(ActionRefused, match="refused"):
        await scorer.score(run.run.task, inner, "succeeded")
    assert [(question.action, question.subject) for question in person.questions] == [
        ("files", "write 3 bytes to /tmp/x"),
        ("acts", "pyautogui.moveTo(5, 6)\npyautogui.write('x')"),
        ("commands", "$ ls -l"),
        ("acts", "pyautogui.click(5, 6)"),
    ]


async def test_without_questions_a_set_up_gets_the_machine_itself(tmp_path: Path) -> None:
    inner = FakeEnvironment()
    run = await start_run(tmp_path, inner)
    inside: object = Writing()
    assert scorer_on(inside, run.hooks, inner) is inside  # type: ignore[arg-type]


def settings(folder: Path, **run: str) -> hisa.Settings:
    tree = {"run": {"folder": folder, **run}, "patterns": {"enabled": False}}
    return hisa.Settings.model_validate({**tree, "state": {"steps": "raw"}})


async def test_run_without_a_person_to_ask_leaves_no_folder(tmp_path: Path) -> None:
    chosen = settings(tmp_path / "runs", confirm="always")
    with pytest.raises(UsageError, match="nobody can be asked") as caught:
        await hisa.run(
            "Go.", settings=chosen, model=ScriptedModel([]), environment=FakeEnvironment()
        )
    assert "hisa.environments.confirmation" in caught.value.fix
    assert not (tmp_path / "runs").exists()


async def test_a_run_on_a_persons_own_machine_asks_about_its_set_up_and_its_acts(
    tmp_path: Path,
) -> None:
    questions: list[tuple[str, str]] = []

    async def ask(question: Question) -> Answer:
        questions.append((question.action, question.subject))
        return Answer("refuse" if "260" in question.subject else "once")

    task = Task("t", "Type.", setup=({"write": {"path": "/tmp/a.txt", "text": "hi"}},))
    machine = OwnMachine()
    source = "pyautogui.click(400, 136); pyautogui.click(260, 184)"
    result = await hisa.run(
        task,
        settings=settings(tmp_path),
        model=ScriptedModel([tool_call("gui_action", source), tool_call("termination", "Done.")]),
        environment=machine,
        ask=ask,
    )
    assert result.status == "succeeded"
    assert ("files", "write 2 bytes to /tmp/a.txt") in questions[:-2]
    assert questions[-2:] == [
        ("acts", "pyautogui.click(400, 136)"),
        ("acts", "pyautogui.click(260, 184)"),
    ]
    assert not machine.agreed, "the second press was refused"
    answered = [e for e in hisa.load_run(result.folder).events if isinstance(e, Confirmed)]
    assert [event.allowed for event in answered[-2:]] == [True, False]


@tool(reads=True)
async def count_files(folder: str, context: ToolContext) -> str:
    """Say how many files a folder has."""
    return (await context.environment.execute(f"ls {folder}")).output


async def test_foreign_tool_needs_approval_though_it_claims_to_read_only(
    tmp_path: Path,
) -> None:
    person = answers("refuse")
    machine = OwnMachine()
    call = tool_call("count_files", "~; rm -r ~")
    result = await hisa.run(
        "Count.",
        settings=settings(tmp_path),
        model=ScriptedModel([call, tool_call("termination", "Done.")]),
        environment=machine,
        tools=[count_files],
        ask=person,
    )
    assert result.status == "succeeded"
    assert person.questions[-1] == Question("commands", "count_files ~; rm -r ~")
    assert not [line for line in machine.ran if "rm -r" in line]
