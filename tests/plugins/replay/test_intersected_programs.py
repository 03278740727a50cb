"""What a second run had too stays."""

from __future__ import annotations

import pytest

from hisa.errors import UsageError
from hisa.plugins.replay.program_proof import intersect_programs
from hisa.plugins.replay.program_records import Effect, Program, ProgramStep, Target
from hisa.plugins.replay.run_compiler import effects_between
from hisa.plugins.replay.target_ladder import WINDOW
from tests.plugins.replay.order_looks import ANN, BO, look, orders, thing


def _program(*beside: str, effects: tuple[Effect, ...] = ()) -> Program:
    target = Target(role="push button", name="Ship", beside=beside, alike=2)
    step = ProgramStep(action="pyautogui.click(1, 1)", targets=(target,), effects=effects)
    return Program(
        name="ship",
        instruction="Ship.",
        screen=(1280, 720),
        task={},
        steps=(step,),
    )


def test_figures_that_a_second_run_had_otherwise_are_any() -> None:
    first, second = (
        _program("Ann", "1021", "3 minutes ago"),
        _program("Ann", "1021", "14 minutes ago"),
    )
    assert intersect_programs(first, second).steps[0].targets[0].beside == (
        "Ann",
        "1021",
        "{{#}} minutes ago",
    )


_FIELD, _SAVE = Target(role="text", label="Name"), Target(role=WINDOW, name="Save As")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (None, _FIELD, _FIELD),  # an act that followed another one, with no look in between
        (None, _SAVE, _SAVE),
        (_SAVE, _FIELD, _SAVE),
        (Target(role=WINDOW, name="*Save As 2"), _SAVE, Target(role=WINDOW, name="*Save As 2")),
        (_FIELD, None, _FIELD),
        (None, None, None),
    ],
)
def test_keys_keep_the_focus_of_either_run(
    first: Target | None, second: Target | None, expected: Target | None
) -> None:
    assert (
        intersect_programs(_build_typing_program(first), _build_typing_program(second))
        .steps[0]
        .focus
        == expected
    )


def test_acts_on_other_things_make_no_program() -> None:
    first, second = _program("Ann"), _program("Bo")
    with pytest.raises(UsageError, match="tells the act on push button Ship from its look-alikes"):
        intersect_programs(first, second)
    renamed = Target(role="push button", name="Send", alike=2)
    step = first.steps[0].model_copy(update={"targets": (renamed,)})
    with pytest.raises(UsageError, match="did the act on push button Ship on Send"):
        intersect_programs(first, first.model_copy(update={"steps": (step,)}))
    with pytest.raises(UsageError, match="1 and 2 actions"):
        intersect_programs(first, first.model_copy(update={"steps": first.steps * 2}))


def test_keys_that_go_to_other_windows_make_no_program() -> None:
    with pytest.raises(UsageError, match="different windows: “Export”, “Save As”"):
        intersect_programs(
            _build_typing_program(Target(role=WINDOW, name="Export")), _build_typing_program(_SAVE)
        )


def _build_typing_program(focus: Target | None) -> Program:
    step = ProgramStep(action="pyautogui.write('a')", focus=focus)
    return _program().model_copy(update={"steps": (step,)})


def test_effect_omits_changes_that_the_player_cannot_detect() -> None:
    one_order, two_orders = look(orders([ANN])), look(orders([ANN, BO]))
    effects = effects_between(two_orders, one_order)
    assert Effect(what="went", role="static", name="Bo Lind") in effects
    assert all(effect.name != "Ship" for effect in effects), "one of two that went leaves one"


def test_new_effects_rank_before_recurring_effects() -> None:
    known = {("static", word) for word in (*ANN, *BO)}
    saved_text = thing("static", "Saved.", (10, 600, 80, 20))
    effects = effects_between(look([]), look([*orders([ANN, BO]), saved_text]), known)
    assert {effect.name for effect in effects} == {"Saved.", "Ship"}
    back = effects_between(look([]), look([*orders([ANN])]), {*known, ("push button", "Ship")})
    assert {effect.name for effect in back} == {*ANN, "Ship"}, "nothing else tells"
