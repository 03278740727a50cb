"""What was typed is read back from the field that has the keyboard, and from no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hisa.plugins.replay.program_player import ProgramPlayer
from hisa.plugins.replay.program_records import Program, ProgramStep, Proof
from hisa.protocols import StateView, Task
from hisa.screen.observation import Observation, Window
from tests.plugins.replay.order_looks import look, thing

_TYPED = "/home/user/letter.odt"


def _saving(text: str) -> Observation:
    """A dialog with a field in front of a letter that keeps its focus."""
    letter = replace(
        thing("paragraph", "", (0, 0, 900, 600), -1, "focused", "editable", window="Letter"),
        text="Dear Ann",
    )
    field = replace(
        thing("text", "Name", (200, 200, 300, 30), -1, "focused", "editable", window="Save"),
        text=text,
    )
    windows = (Window("1", "Letter", "office"), Window("2", "Save", "office", active=True))
    return replace(look([letter, field]), windows=windows)


@pytest.mark.parametrize(("text", "tool"), [(_TYPED, "termination"), ("/home/user/", "wait")])
async def test_typed_text_is_not_read_back_from_a_window_behind(text: str, tool: str) -> None:
    program = Program(
        name="save",
        instruction="Save.",
        screen=(1280, 720),
        task={},
        steps=(ProgramStep(action=f"pyautogui.write({_TYPED!r})"),),
        proof=Proof(run="one", by="check", at=""),
    )
    player = ProgramPlayer(lambda _: None, program, Path())
    task, view = Task(id="save", instruction="Save."), StateView()
    await player.plan(task, _saving(""), view)
    assert (await player.plan(task, _saving(text), view)).tool == tool
