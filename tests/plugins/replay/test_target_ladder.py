"""A target is found again where it is, and nothing else is taken for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hisa.plugins.replay.program_records import Target
from hisa.plugins.replay.target_ladder import (
    WINDOW,
    Missing,
    TargetMatch,
    find_target,
    focus_is,
    target_of,
)
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Window
from tests.plugins.replay.order_looks import ANN, BO, CY, Row, button_of, cards, look, orders, thing

_LISTS: dict[str, Callable[[list[Row]], list[Element]]] = {
    "table": orders,
    "list": lambda rows: orders(rows, kind="list item"),
    "sections": lambda rows: orders(rows, kind="section"),
    "grid": lambda rows: orders(rows, kind=""),
    "cells": lambda rows: orders(rows, kind="cell"),
    "cards": cards,
}


def find(target: Target, observation: Observation, *, lax: bool = False) -> TargetMatch | Missing:
    return find_target(target, observation, None, lax=lax)


def find_element(target: Target, observation: Observation) -> Element | None:
    known = find(target, observation)
    return known.element if isinstance(known, TargetMatch) else None


def reason(target: Target, observation: Observation) -> str:
    known = find(target, observation)
    assert isinstance(known, Missing)
    return known.reason


def ship(rows: list[Row], of: Row, kind: str = "table") -> Target:
    observation = look(_LISTS[kind](rows))
    return target_of(button_of(observation, of), observation)


@pytest.mark.parametrize("kind", _LISTS)
@pytest.mark.parametrize(
    "rows", [[ANN, BO, CY], [CY, BO, ANN], [("9", "Di Moss", "open"), BO, ANN], [BO]]
)
def test_row_button_is_resolved_whatever_rows_surround_it(kind: str, rows: list[Row]) -> None:
    observation = look(_LISTS[kind](rows))
    assert find_element(ship([ANN, BO, CY], BO, kind), observation) is button_of(observation, BO)


@pytest.mark.parametrize("kind", _LISTS)
@pytest.mark.parametrize(
    "rows",
    [
        [ANN, CY],
        [ANN],
        [ANN, ("1042", "Bo Lind", "open"), CY],  # the same customer, another order
        [ANN, ("1022", "Bo Lind", "open", "twice"), CY],
        [ANN, BO, BO, CY],
        [],
    ],
)
def test_a_row_that_is_gone_or_there_twice_is_not_acted_on(kind: str, rows: list[Row]) -> None:
    assert isinstance(find(ship([ANN, BO, CY], BO, kind), look(_LISTS[kind](rows))), Missing)


def test_figures_that_change_are_let_through_before_the_second_run_alone() -> None:
    target, observation = ship([ANN, BO], BO), look(orders([ANN, ("1022", "Bo Lind", "open")]))
    later = look(orders([ANN, ("1099", "Bo Lind", "open")]))
    assert isinstance(find(target, later), Missing)
    assert isinstance(find(target, later, lax=True), TargetMatch)
    two_rows = look(orders([("1099", "Bo Lind", "open"), BO]))
    known = find(target, two_rows, lax=True)
    assert isinstance(known, TargetMatch)
    assert known.element is button_of(two_rows, BO), "its own figures come first"
    assert find_element(target, observation) is button_of(observation, BO)


def test_found_by_text_where_spelling_kind_and_holders_are_others() -> None:
    observation = look(
        [thing("panel", "File", (0, 0, 200, 40)), thing("push button", "Save", (10, 10, 80, 26), 0)]
    )
    target = target_of((observation.elements or ())[1], observation)
    later = look(
        [thing("panel", "Document", (0, 0, 200, 40)), thing("link", "Save…", (300, 10, 80, 26), 0)]
    )
    assert isinstance(find(target, later), TargetMatch)


def test_the_same_word_in_a_dialog_or_another_program_is_another_thing() -> None:
    observation = look([thing("push button", "Save", (10, 10, 80, 26))])
    target = target_of((observation.elements or ())[0], observation)
    dialog = [
        thing("dialog", "", (200, 200, 300, 100)),
        thing("static", "Delete all drafts?", (210, 210, 200, 20), 0),
        thing("push button", "Save", (210, 250, 80, 26), 0),
    ]
    assert isinstance(find(target, look(dialog)), Missing)
    mine = look([thing("push button", "Save", (10, 10, 80, 26), app="mail")])
    assert isinstance(find(target, mine), Missing)
    question_look = look(dialog)
    confirmed = target_of((question_look.elements or ())[2], question_look)
    dialog[1] = thing("static", "Delete all orders?", (210, 210, 200, 20), 0)
    assert isinstance(find(confirmed, look(dialog)), Missing), "it asks something else"


def test_covered_is_not_there_to_be_clicked() -> None:
    observation = look([thing("push button", "Save", (10, 10, 80, 26))])
    target = target_of((observation.elements or ())[0], observation)
    over = [*(observation.elements or ()), thing("push button", "Pay", (0, 0, 120, 60))]
    assert "is covered by push button “Pay”" in reason(target, look(over))


@pytest.mark.parametrize("moved", [False, True])
def test_nameless_likes_are_known_by_row_and_else_by_order_where_as_many(moved: bool) -> None:
    observation = look(orders([ANN, BO], button=""))
    target = target_of(button_of(observation, BO, ""), observation)
    later = look(orders([BO, ANN] if moved else [ANN, BO], button=""))
    assert find_element(target, later) is button_of(later, BO, "")
    bare = [thing("push button", "", (10, 10 + 40 * n, 80, 26)) for n in range(3)]
    bare = bare[::-1] if moved else bare
    second = target_of(sorted(bare, key=lambda e: e.box.top)[1], look(bare))
    assert find_element(second, look(bare)) == thing("push button", "", (10, 50, 80, 26))
    assert "nothing tells them apart" in reason(second, look(bare[:2]))


def test_keys_go_on_only_where_the_keyboard_is_the_targets() -> None:
    def fields(focused: int, *labels: str) -> Observation:
        return look(
            [
                thing(
                    "text",
                    "",
                    (10, 10 + 40 * n, 200, 26),
                    -1,
                    "editable",
                    *(["focused"] if n == focused else []),
                    label=label,
                )
                for n, label in enumerate(labels)
            ]
        )

    observation = fields(0, "Name", "City")
    target = target_of((observation.elements or ())[0], observation)
    assert focus_is(target, observation) == ""
    assert focus_is(target, fields(1, "City", "Name")) == ""
    assert "the keyboard belongs to" in focus_is(target, fields(1, "Name", "City"))
    assert "nothing that is known" in focus_is(target, fields(-1, "Name", "City"))
    notice = Window("2", "Notice", "python", active=True)
    behind = replace(observation, windows=(replace(observation.windows[0], active=False), notice))
    assert "belongs to the window “Notice”" in focus_is(target, behind)
    nameless = fields(1, "", "")
    second = target_of((nameless.elements or ())[1], nameless)
    assert focus_is(second, nameless) == ""
    assert focus_is(second, fields(0, "", "")), "the other one without a name"


def test_a_cell_of_a_spreadsheet_is_known_by_the_rest_of_its_row() -> None:
    def sheet(*rows: Row) -> Observation:
        cells = [thing("table", "Sheet Orders", (0, 0, 900, 600))]
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                cell = thing(
                    "table cell",
                    f"{'ABC'[column]}{number + 1}",
                    (80 * column, 20 * number, 80, 20),
                    0,
                )
                cells.append(replace(cell, text=text))
        return look(cells)

    observation = sheet(ANN, BO)
    target = target_of((observation.elements or ())[6], observation)
    assert (target.name, target.beside) == ("C2", ("1022", "Bo Lind"))
    later = sheet(CY, (*BO[:2], "shipped"))
    assert find_element(target, later) is (later.elements or ())[6]
    assert "beside 1022, Bo Lind is not there" in reason(target, sheet(ANN, CY, BO))
    assert find_element(target, sheet(ANN, ("", "", ""))) is None


def test_keys_of_a_window_without_elements_go_to_that_window_alone() -> None:
    def front(title: str) -> Observation:
        return replace(look([]), windows=(Window("1", title, "XTerm", active=True),))

    target = Target(role=WINDOW, name="ann@host: ~")
    assert focus_is(target, front("ann@host: ~")) == ""
    assert "the window in front is “Notice”" in focus_is(target, front("Notice"))
    assert focus_is(target, front("Notice"), lax=True) == "", "the second run tells"
    assert "the window in front is “”" in focus_is(target, replace(look([]), windows=()))


_WORDS = st.text(alphabet="AB12 ", min_size=1, max_size=4).map(str.strip).filter(bool)
_ROWS = st.lists(
    st.lists(_WORDS, min_size=1, max_size=3).map(tuple),
    min_size=1,
    max_size=7,
    unique_by=frozenset,
)


@given(st.sampled_from(sorted(_LISTS)), _ROWS, _ROWS, st.data())
def test_no_button_of_another_row_is_ever_taken(
    kind: str, before: list[Row], more: list[Row], data: st.DataObject
) -> None:
    """Rows are removed, inserted and shuffled; two rows are the same where they say the same."""
    assume(len(before) > 1 or kind not in ("grid", "cells"))  # one entry has no bounds there
    row = data.draw(st.sampled_from(before))
    remaining = [other for other in before if data.draw(st.booleans())]
    after = data.draw(st.permutations([*remaining, *more]))
    observation, later = look(_LISTS[kind](before)), look(_LISTS[kind](after))
    at = [e for e in observation.elements or () if e.role == "push button"][before.index(row)]
    chosen = find_element(target_of(at, observation), later)
    if chosen is None:
        return
    buttons = [e for e in later.elements or () if e.role == "push button"]
    number = next(n for n, button in enumerate(buttons) if button is chosen)
    assert frozenset(after[number]) == frozenset(row)
    same = [other for other in after if frozenset(other) == frozenset(row)]
    assert len(same) == 1, "of two that say the same none is taken"


@pytest.mark.parametrize(("corner", "behind"), [((0, 0), True), ((900, 500), False)])
def test_target_covered_by_a_window_without_elements_is_refused(
    corner: tuple[int, int], behind: bool
) -> None:
    shown = look(orders([ANN, BO]))
    target = target_of(button_of(shown, ANN), shown)
    box = BoundingBox(*corner, 1280, 720, "screen")
    slides = Window("2", "Slides", "", box=box, active=True)
    covered = replace(shown, windows=(replace(shown.windows[0], active=False), slides))
    if behind:
        assert reason(target, covered) == "push button “Ship” lies behind the window “Slides”"
    else:
        assert find_element(target, covered) is not None
