"""A replay says what was seen: hidden is not gone, and what may not have happened is not done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hisa.config import Settings
from hisa.plugins.replay.program_player import ProgramPlayer
from hisa.plugins.replay.program_records import (
    Effect,
    Program,
    ProgramStep,
    Proof,
    Target,
    write_program,
)
from hisa.plugins.replay.program_runs import play
from hisa.protocols import StateView, Task, ToolCall
from hisa.screen.observation import Element, Observation
from hisa.testing import FakeEnvironment
from tests.plugins.replay.order_looks import look, thing

TASK = Task(id="trip", instruction="Remove Porto.")
PROOF = Proof(run="r", by="effects", at="2026-01-01T00:00:00")
PAGE = thing("document web", "Trips", (0, 0, 1000, 700))
REMOVE = thing("push button", "Remove", (100, 100, 100, 30), 0, "focusable")
PORTO = thing("table cell", "Porto", (100, 200, 100, 30), 0)


def click(role: str, name: str, *effects: Effect) -> ProgramStep:
    target = Target(role=role, name=name, box=(100, 100, 200, 130))
    return ProgramStep(action="pyautogui.click(150, 115)", targets=(target,), effects=effects)


async def calls(
    steps: Sequence[ProgramStep], observations: Sequence[Observation], result: str = "Succeeded."
) -> list[ToolCall]:
    """The calls of a program on looks, of which the last stays; each act has the same result."""
    program = Program(
        name="trip",
        instruction="Remove Porto.",
        screen=(1280, 720),
        task={},
        steps=tuple(steps),
        proof=PROOF,
    )
    player = ProgramPlayer(lambda _: None, program, Path("/nowhere"))
    tool_calls: list[ToolCall] = []
    for number in range(60):
        lines = tuple(f"click | Result: {result}" for _ in tool_calls[:1])
        observation = observations[min(number, len(observations) - 1)]
        tool_calls.append(await player.plan(TASK, observation, StateView(lines=lines)))
        if tool_calls[-1].tool in ("termination", "infeasible"):
            return tool_calls
    raise AssertionError("no end")


@pytest.mark.parametrize(
    ("after", "end"),
    [
        ([PAGE, REMOVE], "The step was done"),
        ([PAGE, REMOVE, PORTO], "effect unknown: step 1"),
        ([PAGE, thing("dialog", "Sure?", (200, 200, 300, 100), 0, "modal")], "effect unknown"),
        (
            [
                thing("frame", "Orders", (0, 0, 1000, 700)),
                thing("alert", "This page says", (200, 0, 300, 100), 0),
                thing("push button", "OK", (300, 60, 60, 30), 1, "focusable"),
            ],
            "effect unknown",
        ),
    ],
    ids=["gone", "still there", "behind a modal", "behind a question of the browser"],
)
async def test_element_hidden_by_a_dialog_does_not_count_as_gone(
    after: list[Element], end: str
) -> None:
    went = Effect(what="went", role="table cell", name="Porto")
    observations = [look([PAGE, REMOVE, PORTO]), look(after)]
    tool_calls = await calls([click("push button", "Remove", went)], observations)
    assert tool_calls[-1].thought.startswith(end), tool_calls[-1].thought


@pytest.mark.parametrize("ticked", [True, False])
async def test_a_box_that_is_ticked_already_is_not_clicked(ticked: bool) -> None:
    states = Effect(what="states", role="check box", name="Gift", value="checked")
    box = ("check box", "Gift", (100, 100, 100, 30), 0)
    before = look([PAGE, thing(*box, *["checked"] * ticked)])
    tool_calls = await calls(
        [click("check box", "Gift", states)], [before, look([PAGE, thing(*box, "checked")])]
    )
    assert [call.tool for call in tool_calls] == ["gui_action"] * (not ticked) + ["termination"]


@pytest.mark.parametrize(
    ("result", "end"),
    [
        ("No visible change.", "effect unknown: step 1"),
        ("Succeeded.", "halted before effect: step 2"),
    ],
)
async def test_a_step_that_may_not_have_happened_is_named_and_not_the_next(
    result: str, end: str
) -> None:
    steps = [click("push button", "Remove"), click("push button", "Yes")]
    tool_calls = await calls(steps, [look([PAGE, REMOVE])], result)
    assert tool_calls[-1].thought.startswith(end), tool_calls[-1].thought


class Plain(FakeEnvironment):
    """A machine that does not tell what is hidden."""

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities - {"hidden"}


@pytest.mark.parametrize(
    ("machine", "outcome", "score"),
    [(FakeEnvironment, "verified", 1.0), (Plain, "effect unknown", None)],
)
async def test_a_replay_whose_check_may_be_hidden_is_not_verified(
    tmp_path: Path, machine: type[FakeEnvironment], outcome: str, score: float | None
) -> None:
    check = {"all": [{"element": {"role": "table cell", "name": "Porto", "absent": True}}]}
    program = Program(
        name="trip",
        instruction="Remove Porto.",
        screen=(640, 480),
        proof=PROOF,
        task={"id": "trip", "instruction": "Remove Porto.", "check": check},
        steps=(ProgramStep(action="pyautogui.press('enter')"),),
    )
    write_program(program, tmp_path / "trip")
    tree = {"run": {"folder": tmp_path / "runs"}, "patterns": {"enabled": False}}
    settings = Settings.model_validate(tree)
    played = await play(tmp_path / "trip", settings, environment=machine())
    assert (played.outcome, played.score) == (outcome, score), played.reason
