"""A repaired step keeps what may be any, and says what its look-alikes do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from hisa.actions import parse
from hisa.errors import ActionRefused
from hisa.events import Event, Noted
from hisa.hooks import Step, StepAction
from hisa.plugins.replay.program_planners import Repairer
from hisa.plugins.replay.program_records import (
    Effect,
    Program,
    ProgramStep,
    Target,
    read_program,
    write_program,
)
from hisa.plugins.replay.surroundings import OTHERS
from hisa.plugins.replay.target_ladder import target_of
from hisa.protocols import GroundedCall, StateView, Task, ToolCall
from hisa.screen.observation import Element, Observation
from tests.plugins.replay.order_looks import ANN, BO, CY, button_of, look, orders, thing

_TASK = Task("ship", "Ship order 1022.")


class _Points:
    """A planner that clicks one thing, whatever it is asked; ``requests`` holds what it was."""

    def __init__(self, element: Element | None) -> None:
        self._element, self.requests = element, list[str]()

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        self.requests.append(task.instruction)
        if self._element is None:
            return ToolCall("", "termination", {"summary": "done"})
        at = self._element.box.centre
        source = f"pyautogui.click({at.x:.0f}, {at.y:.0f})"
        return ToolCall("", "gui_action", source, actions=parse(source))


def _store_program(folder: Path, target: Target, *effects: Effect) -> Path:
    """A program of one click."""
    step = ProgramStep(action="pyautogui.click(740, 110)", targets=(target,), effects=effects)
    program = Program(
        name="ship",
        instruction="Ship order 1022.",
        screen=(1280, 720),
        task={},
        steps=(step,),
        proof={"run": "r", "by": "check", "at": "2026-11-26"},
    )
    write_program(program, folder / "ship")
    return folder / "ship"


def _target(*beside: str, name: str = "Ship") -> Target:
    observation = look(orders([ANN, BO, CY]))
    update = {"beside": beside, "name": name, "alike": 3 if beside else 1}
    return target_of(button_of(observation, BO), observation).model_copy(update=update)


async def play_repairer(
    place: Path,
    before: Observation,
    planner: _Points,
    after: Observation | None = None,
) -> tuple[Program | None, ToolCall, list[str]]:
    """The program that a repairer writes, its last call, and its notes."""
    notes: list[str] = []

    def emit(event: Event) -> None:
        notes.extend([event.text] if isinstance(event, Noted) else [])

    part = place.parent / "part"
    repairer = Repairer(f"program:{place}", planner, part=part, emit=cast(Any, emit))
    view, observation = StateView(lines=("Step 1: … | Result: Succeeded.",)), before
    call = await repairer.plan(_TASK, observation, StateView())
    for _ in range(40):
        if call.tool in ("termination", "infeasible"):
            break
        if call.tool == "gui_action":
            observation = after or before
            grounded = GroundedCall(call, call.input, call.actions)
            step = Step(1, cast(Any, None), before, view, call=call, grounded=grounded)
            try:
                await repairer.before_action(step, StepAction(grounded, before, 1, grounded))
            except ActionRefused:
                observation = before
        call = await repairer.plan(_TASK, observation, view)
    file = part / "program.yaml"
    return read_program(part) if file.exists() else None, call, notes


@pytest.mark.parametrize(
    ("old_texts", "beside"),
    [
        (("1022", "Bo Lind", "open"), ("1022", "Bo Lind", "open")),
        (("1022", OTHERS), ("1022", OTHERS)),
    ],
)
async def test_repaired_row_keeps_its_wildcards(
    tmp_path: Path, old_texts: tuple[str, ...], beside: tuple[str, ...]
) -> None:
    place = _store_program(tmp_path, _target(*old_texts))
    before = look(orders([ANN, BO, CY], button="Dispatch"))
    planner = _Points(button_of(before, BO, "Dispatch"))
    program, call, notes = await play_repairer(place, before, planner)
    assert call.tool == "termination", notes
    assert program is not None
    (step,) = program.steps
    assert (step.targets[0].name, step.targets[0].beside) == ("Dispatch", beside)
    assert len(planner.requests) == 1
    assert program.repaired


async def test_a_button_of_another_row_halts_it(tmp_path: Path) -> None:
    place = _store_program(tmp_path, _target("1022", "Bo Lind", "open"))
    before = look(orders([ANN, BO, CY], button="Dispatch"))
    planner = _Points(button_of(before, ANN, "Dispatch"))
    program, call, _ = await play_repairer(place, before, planner)
    assert (call.tool, program) == ("infeasible", None)
    assert call.thought.startswith("halted before effect")
    assert "1021" in call.thought


async def test_an_effect_that_names_the_thing_is_looked_for_under_its_new_name(
    tmp_path: Path,
) -> None:
    gone = Effect(what="value", role="push button", name="Ship", value="")
    place = _store_program(tmp_path, _target("1022", "Bo Lind", "open"), gone)
    before = look(orders([ANN, BO, CY], button="Dispatch"))
    planner = _Points(button_of(before, BO, "Dispatch"))
    program, call, notes = await play_repairer(place, before, planner)
    assert call.tool == "termination", notes
    assert program is not None
    assert program.steps[0].effects == (gone.model_copy(update={"name": "Dispatch"}),)


async def test_an_act_without_its_effects_is_requested_again_and_then_halts(
    tmp_path: Path,
) -> None:
    place = _store_program(
        tmp_path,
        _target("1022", "Bo Lind", "open"),
        Effect(what="came", role="dialog", name="Sure?"),
    )
    before = look(orders([ANN, BO, CY], button="Dispatch"))
    planner = _Points(button_of(before, BO, "Dispatch"))
    program, call, _ = await play_repairer(place, before, planner)
    assert (call.tool, program, len(planner.requests)) == ("infeasible", None, 2)
    assert call.thought.startswith("effect unknown")


async def test_planner_claim_of_success_is_judged_by_the_effects(tmp_path: Path) -> None:
    sure = Effect(what="came", role="dialog", name="Sure?")
    place = _store_program(tmp_path, _target("1022", "Bo Lind", "open"), sure)
    before = look(orders([ANN, BO, CY], button="Dispatch"))
    planner = _Points(None)
    _, call, _ = await play_repairer(place, before, planner)
    assert call.tool == "infeasible"
    assert len(planner.requests) == 2
    assert all("“Ship”" in request and "is not there" in request for request in planner.requests)
    dialog = thing("dialog", "Sure?", (100, 100, 200, 100), None)
    with_dialog = look([*orders([ANN, BO, CY], button="Dispatch"), dialog])
    _, call, _ = await play_repairer(place, with_dialog, _Points(None))
    assert call.tool == "termination"
