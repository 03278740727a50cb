"""Values in a program: typed as they are, never a part of the act or of a command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.actions import Write, parse
from hisa.errors import UsageError
from hisa.plugins.replay.program_records import (
    Effect,
    Parameter,
    Program,
    ProgramStep,
    Target,
    filled,
    with_parameters,
)

TASK = {
    "id": "note", "instruction": "Write milk.", "setup": [{"launch": "mousepad milk"}],
    "check": {"all": [{"file": "~/milk.txt", "equals": "milk"}]},
}  # fmt: skip
STEPS = (
    ProgramStep(action="pyautogui.write('milk')"),
    ProgramStep(action="pyautogui.press('enter')"),
    ProgramStep(action="echo milk", tool="bash_execution"),
)
PROGRAM = Program(
    name="note", instruction="Write milk.", screen=(1280, 720), task=TASK, steps=STEPS
)


def taken(value: str = "milk") -> Program:
    return with_parameters(PROGRAM, {"text": Parameter(value=value)})


@given(st.text(st.characters(max_codepoint=0x17F, exclude_categories=["Cc"]), max_size=40))
def test_a_value_is_typed_and_adds_no_act(value: str) -> None:
    program = taken()
    program = program.model_copy(update={"task": {**TASK, "setup": []}})
    (action,) = parse(filled(program, {"text": value}).steps[0].action) or (Write(""),)
    assert isinstance(action, Write)
    assert action.text == value


def test_keys_and_commands_hold_no_marks() -> None:
    program = taken("enter")
    assert program.steps[1].action == "pyautogui.press('enter')"
    assert taken().steps[2].action == "echo milk"


@pytest.mark.parametrize("value", ["text", "came", "a", "gui_action"])
def test_words_of_the_program_itself_hold_no_marks(value: str) -> None:
    step = ProgramStep(
        action=f"pyautogui.write({value!r})",
        risk="sends a mail",
        focus=Target(role="text"),
        effects=(Effect(what="came", role="text", name=value),),
    )
    program = PROGRAM.model_copy(update={"steps": (step,)})
    (marked,) = with_parameters(program, {"own": Parameter(value=value)}).steps
    expected = {
        "action": "pyautogui.write('{{own}}')",
        "effects": (step.effects[0].model_copy(update={"name": "{{own}}"}),),
    }
    assert marked == step.model_copy(update=expected)


def test_a_value_that_a_shell_would_read_is_refused() -> None:
    assert filled(taken(), {"text": "soy milk"}).task["setup"] == [{"launch": "mousepad soy milk"}]
    with pytest.raises(UsageError, match="becomes a part of a command"):
        filled(taken(), {"text": "x; rm -rf ~"})


def test_forms_of_a_path_follow_its_value() -> None:
    steps = (ProgramStep(action="pyautogui.write('/home/user/a.txt')"),)
    check = {"all": [{"file": "~/a.txt", "equals": "x"}]}
    program = Program(
        name="save",
        instruction="Save it.",
        screen=(1, 1),
        task={**TASK, "check": check},
        steps=steps,
    )
    program = with_parameters(program, {"name": Parameter(value="/home/user/a.txt")})
    assert filled(program, {"name": "/home/user/b/c.txt"}).task["check"]["all"][0]["file"] == (
        "~/b/c.txt"
    )


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no parameter 'colour'; it has: text"):
        filled(taken(), {"colour": "red"})
