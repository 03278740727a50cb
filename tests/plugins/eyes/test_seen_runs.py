"""The scripts that describe, and the judge of their clicks, of runs without elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from PIL import Image

from benchmarks.seen_runs_judge import Judge
from benchmarks.seen_runs_script import Script, ScriptStep, read_scripts
from hisa.actions import Click
from hisa.errors import UsageError
from hisa.events import Acted, GroundingFailed
from hisa.hooks import StepAction
from hisa.protocols import GroundedCall, ModelRequest, Outcome, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation, Screenshot

ASK = ModelRequest("planner", ())
STATES = frozenset({"showing", "visible"})


def element(role: str, name: str, left: int, parent: int, *states: str) -> Element:
    box = BoundingBox(left, 10, left + 50, 30, "screen")
    return Element(role, name, box, states=STATES | {*states}, parent=parent)


def look(*elements: Element) -> Observation:
    size = Size(400, 100)
    holder = Element("panel", "", BoundingBox(0, 0, 400, 100, "screen"), states=STATES, parent=-1)
    return Observation(Screenshot(Image.new("RGB", (400, 100))), size, elements=(holder, *elements))


BEFORE = look(element("push button", "Yes", 10, 0), element("push button", "No", 100, 0))


class Trees:
    """A desktop that shows prepared trees."""

    def __init__(self, *trees: Observation) -> None:
        self._trees = iter(trees)

    async def look_at_tree(self, settle: float = 0.0) -> Observation:
        return next(self._trees)


async def judge_click(at: tuple[int, int], meant: tuple[int, int], after: Observation) -> Judge:
    """A judge that has seen a click at a point, where another one was meant."""

    async def find_target_point(place: Place, tree: Observation) -> Point:
        return Point(*meant, "image")

    point = Point(*at, "image")
    call = ToolCall("", "gui_action", "", "the Yes button")
    grounded = GroundedCall(call, "", (Click(point),), (Place("the Yes button", point),))
    action = StepAction(grounded, BEFORE, 1, grounded)
    judge = Judge(cast(Any, Trees(BEFORE, after)), find_target_point)
    await judge.before_action(cast(Any, None), action)
    action.executed, action.outcome = True, Outcome(ok=True)
    await judge.after_action(cast(Any, None), action)
    return judge


@pytest.mark.parametrize(
    ("at", "right", "wrong"),
    [((20, 20), True, False), ((120, 20), False, True), ((300, 80), False, False)],
    ids=["same", "another", "nothing known there"],
)
async def test_click_is_judged_by_what_lies_there(
    at: tuple[int, int], right: bool, wrong: bool
) -> None:
    (place,) = (await judge_click(at, (30, 15), BEFORE)).places
    assert (place.right, place.wrong, place.acted) == (right, wrong, True)


async def test_click_beside_a_control_that_reacts_is_right() -> None:
    after = look(element("push button", "Yes", 10, 0, "focused"))
    (place,) = (await judge_click((300, 80), (30, 15), after)).places
    assert place.right


def test_refused_description_is_followed_by_the_next_then_by_the_end() -> None:
    script = Script([ScriptStep(describe=("Yes", "the left button"), at=(1, 2))])
    assert '"description": "Yes"' in script.reply(ASK)
    for words in ("the left button", "infeasible"):
        script.hear(GroundingFailed(description="", reason=""))
        script.hear(Acted(tool="gui_action", input="", ok=False))
        assert words in script.reply(ASK)


def test_step_that_was_not_done_comes_again_and_one_that_was_does_not() -> None:
    script = Script([ScriptStep(describe="Yes", at=(1, 2))], by_points=True)
    script.hear(Acted(tool="gui_action", input="", ok=False))
    assert "pyautogui.click(1, 2)" in script.reply(ASK)
    script.hear(Acted(tool="gui_action", input="", ok=True))
    assert "termination" in script.reply(ASK)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("form: [{describe: Save, at: [1, 2]}]", "no tasks form; there are ada"),
        ("ada: [{describe: Save}]", "'describe', 'at' and X_COORD, Y_COORD go together"),
        ("ada: [{describe: [], do: pyautogui.press('a')}]", "at least 1"),
        ("ada: [{click: Save, at: [1, 2]}]", "click"),
        ("ada: [", "expected the node content"),
    ],
)
def test_wrong_script_is_refused_with_its_reason(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "scripts.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=reason):
        read_scripts(file, ["ada"])
