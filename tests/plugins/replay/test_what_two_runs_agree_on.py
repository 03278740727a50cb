"""What a second run had too stays."""

from __future__ import annotations

import pytest

from hisa.errors import UsageError
from hisa.plugins.replay.compiling import effects_between
from hisa.plugins.replay.program_records import Effect, Program, ProgramStep, Target
from hisa.plugins.replay.proving import agreed
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
    one, two = _program("Ann", "1021", "3 minutes ago"), _program("Ann", "1021", "14 minutes ago")
    assert agreed(one, two).steps[0].targets[0].beside == ("Ann", "1021", "{{#}} minutes ago")


_FIELD, _SAVE = Target(role="text", label="Name"), Target(role=WINDOW, name="Save As")


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (None, _FIELD, _FIELD),  # an act that followed another one, with no look in between
        (None, _SAVE, _SAVE),
        (_SAVE, _FIELD, _SAVE),
        (Target(role=WINDOW, name="*Save As 2"), _SAVE, Target(role=WINDOW, name="*Save As 2")),
        (_FIELD, None, _FIELD),
        (None, None, None),
    ],
)
def test_keys_are_held_to_what_had_the_keyboard_in_either_run(
    first: Target | None, second: Target | None, kept: Target | None
) -> None:
    assert agreed(_typed(first), _typed(second)).steps[0].focus == kept


def test_acts_on_other_things_make_no_program() -> None:
    one, other = _program("Ann"), _program("Bo")
    with pytest.raises(UsageError, match="tells the act on push button Ship from its like"):
        agreed(one, other)
    renamed = Target(role="push button", name="Send", alike=2)
    step = one.steps[0].model_copy(update={"targets": (renamed,)})
    with pytest.raises(UsageError, match="did the act on push button Ship on Send"):
        agreed(one, one.model_copy(update={"steps": (step,)}))
    with pytest.raises(UsageError, match="1 and 2 actions"):
        agreed(one, one.model_copy(update={"steps": one.steps * 2}))


def test_keys_that_go_to_other_windows_make_no_program() -> None:
    with pytest.raises(UsageError, match="other windows: “Export”, “Save As”"):
        agreed(_typed(Target(role=WINDOW, name="Export")), _typed(_SAVE))


def _typed(focus: Target | None) -> Program:
    step = ProgramStep(action="pyautogui.write('a')", focus=focus)
    return _program().model_copy(update={"steps": (step,)})


def test_an_effect_is_what_the_player_will_read_so() -> None:
    one, both = look(orders([ANN])), look(orders([ANN, BO]))
    effects = effects_between(both, one)
    assert Effect(what="went", role="static", name="Bo Lind") in effects
    assert all(effect.name != "Ship" for effect in effects), "one of two that went leaves one"


def test_what_is_new_tells_more_than_what_comes_back() -> None:
    known = {("static", word) for word in (*ANN, *BO)}
    said = thing("static", "Saved.", (10, 600, 80, 20))
    effects = effects_between(look([]), look([*orders([ANN, BO]), said]), known)
    assert {effect.name for effect in effects} == {"Saved.", "Ship"}
    back = effects_between(look([]), look([*orders([ANN])]), {*known, ("push button", "Ship")})
    assert {effect.name for effect in back} == {*ANN, "Ship"}, "nothing else tells"
