"""What a planner acts on for a step is what the step was done to, or nothing is done."""

from __future__ import annotations

import pytest

from hisa.plugins.replay.program_planners import meets_another
from hisa.plugins.replay.program_records import ProgramStep
from hisa.plugins.replay.target_ladder import target_of
from hisa.screen.observation import Element, Observation
from tests.plugins.replay.order_looks import ANN, BO, CY, Row, button_of, look, orders, thing

_KINDS = ["table row", "list item", "section", "", "cell"]


def _click(element: Element, observation: Observation) -> ProgramStep:
    at = element.box.centre
    source = f"pyautogui.click({at.x:.0f}, {at.y:.0f})"
    return ProgramStep(action=source, targets=(target_of(element, observation),))


def _build_ship_step(kind: str, of: Row = BO) -> ProgramStep:
    observation = look(orders([ANN, BO, CY], kind=kind))
    return _click(button_of(observation, of), observation)


@pytest.mark.parametrize("kind", _KINDS)
def test_a_button_with_another_name_is_it_in_its_own_row_alone(kind: str) -> None:
    observation = look(orders([ANN, BO, CY], button="Dispatch", kind=kind))
    old, own = _build_ship_step(kind), button_of(observation, BO, "Dispatch")
    assert meets_another(old, _click(own, observation), observation) == ("", True)
    for other in (ANN, CY):
        reason, stands = meets_another(
            old, _click(button_of(observation, other, "Dispatch"), observation), observation
        )
        assert other[0] in reason
        assert not stands


@pytest.mark.parametrize("button", ["Ship", "Dispatch"])
@pytest.mark.parametrize("row", [("1042", "Bo Lind", "open"), ("1022", "Bo Berg", "open")])
def test_a_row_that_says_something_else_is_another(row: Row, button: str) -> None:
    observation = look(orders([ANN, row, CY], button=button))
    reason, _ = meets_another(
        _build_ship_step("table row"),
        _click(button_of(observation, row, button), observation),
        observation,
    )
    assert reason


def test_click_that_clears_the_way_is_allowed_but_is_not_the_step() -> None:
    close = thing("push button", "Close", (900, 5, 60, 26), None)
    observation = look([*orders([ANN, BO, CY]), close])
    assert meets_another(
        _build_ship_step("table row"), _click(close, observation), observation
    ) == ("", False)


def test_a_lone_thing_may_have_another_name_and_no_like() -> None:
    save = thing("push button", "Save", (10, 300, 80, 26))
    store, again = (thing("push button", "Store", (10, top, 80, 26)) for top in (300, 400))
    old = _click(save, look([save]))
    single, pair = look([store]), look([store, again])
    assert meets_another(old, _click(store, single), single) == ("", True)
    assert meets_another(old, _click(store, pair), pair)[0]


def test_a_dialog_in_the_way_may_be_closed_but_not_by_the_name_of_the_target() -> None:
    save = thing("push button", "Save", (10, 300, 80, 26))
    dialog = thing("dialog", "", (300, 200, 400, 200))
    question = thing("static", "Delete all drafts?", (310, 210, 300, 20), 1)
    yes, back = (
        thing("push button", name, (left, 300, 80, 26), 1)
        for name, left in (("Save", 320), ("Back", 420))
    )
    observation = look([save, dialog, question, yes, back])
    old = _click(save, look([save]))
    assert meets_another(old, _click(back, observation), observation) == ("", False)
    assert meets_another(old, _click(yes, observation), observation)[0]


def test_repair_must_type_the_same_text_and_may_not_press_a_key() -> None:
    observation = look(orders([ANN, BO, CY]))
    old = ProgramStep(action="pyautogui.write('Milk')")
    assert meets_another(old, ProgramStep(action="pyautogui.write('Milk')"), observation) == (
        "",
        True,
    )
    assert (
        "Bread"
        in meets_another(old, ProgramStep(action="pyautogui.write('Bread')"), observation)[0]
    )
    assert meets_another(
        _build_ship_step("table row"), ProgramStep(action="pyautogui.press('enter')"), observation
    )[0]
