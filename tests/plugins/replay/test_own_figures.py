"""Counts and sizes that nobody typed are others the next time; what they are of stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hisa.plugins.replay.compiling import effects_between
from hisa.plugins.replay.own_figures import numberless, without_own_figures
from hisa.plugins.replay.program_player import ProgramPlayer, holds
from hisa.plugins.replay.program_records import Effect, Program, ProgramStep, Proof
from hisa.plugins.replay.target_ladder import target_of
from hisa.protocols import StateView, Task
from hisa.screen.observation import Observation
from tests.plugins.replay.order_looks import ANN, BO, CY, Row, button_of, look, orders, thing

PROOF = Proof(run="other", by="effects", at="2026-01-01")


def page(rows: list[Row], count: str, *more: str) -> Observation:
    words = [thing("static", text, (10, 600 + 30 * n, 300, 20)) for n, text in enumerate(more)]
    return look(
        [
            *orders(rows),
            thing("status bar", "", (0, 690, 900, 30)),
            thing("static", count, (10, 695, 90, 20)),
            *words,
        ]
    )


def program(before: Observation, after: Observation, row: Row, words: str = "") -> Program:
    step = ProgramStep(
        action="pyautogui.click(740, 67)",
        targets=(target_of(button_of(before, row), before),),
        effects=tuple(effects_between(before, after)),
    )
    steps = without_own_figures([step], [before.elements or ()], words)
    return Program(
        name="ship",
        instruction="Ship.",
        screen=(1280, 720),
        task={},
        steps=tuple(steps),
        proof=PROOF,
    )


async def end_of(played: Program, before: Observation, after: Observation) -> str:
    player = ProgramPlayer(lambda _: None, played, Path("/nowhere"))
    seen = before
    for _ in range(15):
        call = await player.plan(Task(id="ship", instruction=""), seen, StateView())
        if call.tool in ("termination", "infeasible"):
            return call.thought
        seen = after if call.tool == "gui_action" else seen
    raise AssertionError("no end")


async def test_a_count_that_alone_tells_must_change_whatever_it_was() -> None:
    shown = program(page([ANN, BO], "5 open"), page([ANN, BO], "4 open"), BO)
    assert [e.name for e in shown.steps[0].effects if e.what == "came"] == ["{{#}} open"]
    grown = page([ANN, BO, CY], "11 open")
    done = await end_of(shown, grown, page([ANN, BO, CY], "10 open"))
    assert done.startswith("The step was done")
    same = await end_of(shown, grown, grown)
    assert same.startswith("effect unknown: step 1 of 1"), "it reads as it did before"


async def test_a_count_beside_what_tells_is_left_out() -> None:
    shown = program(page([ANN, BO], "5 open"), page([ANN, BO], "4 open, 31.5 kB", "Shipped."), BO)
    assert [(e.what, e.name) for e in shown.steps[0].effects] == [("came", "Shipped.")]


def test_figures_of_the_task_its_acts_and_its_targets_are_no_counts() -> None:
    before = page([ANN, BO], "5 open")
    after = page([ANN, BO], "5 open", "Ship order 1022?", "Room 7", "Table 740")
    (step,) = program(before, after, BO, words="Book room 7.").steps
    assert {effect.name for effect in step.effects} == {"Ship order 1022?", "Room 7"}


def test_a_value_that_was_no_count_stays_as_it_was() -> None:
    before, after = page([BO], "ready"), page([BO], "Total 12.5")
    (step,) = program(before, after, BO).steps
    assert Effect(what="came", role="static", name="Total 12.5") in step.effects


def test_a_tab_that_tells_of_memory_is_no_effect_nor_is_its_old_name() -> None:
    field = thing("entry", "Note", (10, 10, 200, 20))
    tab, told = (
        thing("page tab", name, (300, 10, 200, 20))
        for name in ("Orders", "Orders - Memory usage - 24.5 MB")
    )
    typed = Effect(what="value", role="entry", name="Note", value="Hello")
    before = look([field, tab])
    effects = (typed, *effects_between(before, look([field, told])))
    assert len(effects) == 3
    step = ProgramStep(action="pyautogui.write('Hello')", effects=effects)
    (kept,) = without_own_figures([step], [before.elements or ()], "")
    assert kept.effects == (typed,)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("5 open", "{{#}} open"),
        ("24.5 MB", "{{#}} MB"),
        ("1,024:30 left", "{{#}} left"),
        ("Page 3 of 12.", "Page {{#}} of {{#}}."),
        ("none", "none"),
    ],
)
def test_a_number_is_one_with_its_separators(text: str, plain: str) -> None:
    assert numberless(text) == plain


def test_a_field_that_counts_is_read_without_its_figures() -> None:
    def status(text: str) -> Observation:
        return look([replace(thing("status bar", "Items", (0, 690, 900, 30)), text=text)])

    step = ProgramStep(
        action="pyautogui.press('delete')",
        effects=tuple(effects_between(status("5 items, all saved"), status("4 items, all saved"))),
    )
    (loose,) = without_own_figures([step], [status("5 items, all saved").elements or ()], "")
    (effect,) = loose.effects
    assert holds(effect, status("10 items, all saved"), status("11 items, all saved"))
    assert not holds(effect, status("11 items, all saved"), status("11 items, all saved"))
    assert not holds(effect, status("10 items, not saved"), status("11 items, all saved"))
