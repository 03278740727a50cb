"""A step that deletes, sends or runs something says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from hisa.actions import Click, Press
from hisa.plugins.replay.cli.replay import replay
from hisa.plugins.replay.program_records import Program, ProgramStep, Target, write_program
from hisa.plugins.replay.run_compiler import act_risk, remarks, tool_risk
from hisa.screen.geometry import Point
from hisa.screen.observation import Element
from tests.plugins.replay.order_looks import look, thing

_QUESTION_DIALOG = [
    thing("dialog", "", (200, 200, 300, 100)),
    thing("label", "Delete all drafts?", (210, 210, 200, 20), 0),
]


@pytest.mark.parametrize(
    ("elements", "risk"),
    [
        ([thing("push button", "Delete", (300, 240, 80, 26))], "delete"),
        ([thing("push button", "Pay now", (300, 240, 80, 26))], "pay"),
        ([thing("push button", "Cancel", (300, 240, 80, 26))], ""),
        ([thing("push button", "Save", (300, 240, 80, 26))], ""),
        ([*_QUESTION_DIALOG, thing("push button", "OK", (300, 240, 80, 26), 0)], "delete"),
        ([*_QUESTION_DIALOG, thing("push button", "Cancel", (300, 240, 80, 26), 0)], ""),
    ],
)
def test_a_click_has_the_risk_that_the_policy_knows(elements: list[Element], risk: str) -> None:
    assert act_risk([Click(Point(340, 253, "screen"))], look(elements)) == risk


def test_enter_has_the_risk_of_the_button_that_it_presses() -> None:
    button = thing("push button", "Delete", (300, 240, 80, 26), 0, "is-default", "focused")
    assert act_risk([Press("enter")], look([*_QUESTION_DIALOG, button])) == "delete"


@pytest.mark.parametrize(
    ("tool", "tool_input", "risk"),
    [
        ("bash_execution", "ls", "runs a command"),
        ("bash_execution", "rm -rf ~/drafts", "runs a command, delete"),
        ("bash_execution", {"command": "rm ~/a.txt"}, "runs a command, delete"),
        ("files_write", {"path": "~/a.txt"}, "calls files_write"),
    ],
)
def test_a_command_and_a_tool_are_risks(tool: str, tool_input: object, risk: str) -> None:
    assert tool_risk(tool, tool_input) == risk


def program(risk: str, target: Target) -> Program:
    step = ProgramStep(action="pyautogui.click(124, 116)", targets=(target,), risk=risk)
    return Program(name="go", instruction="Go.", screen=(1280, 720), task={}, steps=(step,))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(role="push button", name="Save"), None),
        (Target(role="table"), "its target, table, is known only by its order"),
    ],
)
def test_a_target_with_little_to_know_it_by_is_named_with_its_step(
    target: Target, words: str | None
) -> None:
    (step,) = program("", target).steps
    first, *lines = remarks([ProgramStep(action="pyautogui.press('a')"), step])
    assert first == "step 1: nothing says where its keys go"
    assert [line.startswith("step 2: ") and str(words) in line for line in lines] == [True] * bool(
        words
    )


def test_the_list_of_programs_has_their_risks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    erase = program("delete", Target(role="push button", name="Erase"))
    write_program(erase, Path("programs", "go"))
    result = CliRunner().invoke(replay, [])
    assert result.stdout == "go  1 step  Go.; risks: delete\n"
