"""The bench of tools beside the GUI: its scripts hold together, and one task is done both ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.api_gui.__main__ import Row, concluded
from benchmarks.api_gui.player import told_of
from benchmarks.api_gui.task_list import DATA, Pair, pairs
from benchmarks.api_gui.trial import WAYS, Outcome, kits_lacking, tried
from hisa.actions import parse
from hisa.tasks.taskfile import load_task
from hisa.tools.registry import discover

TASKS = {pair.name: pair for pair in pairs(DATA)}


def test_every_task_has_a_file_and_two_scripts_of_calls_that_can_be_made() -> None:
    assert kits_lacking() == []
    tools = {tool.name: tool for tool in discover()[0]}
    assert len(TASKS) == 14
    for pair in TASKS.values():
        assert load_task(pair.path).check, pair.name
        for way in WAYS:
            for move in pair.moves[way]:
                assert way != "gui" or move.tool == "gui_action", pair.name
                tools[move.tool].arguments(move.input)
                if isinstance(move.input, str):
                    parse(move.input)


def row(gui: int, api: int, found: int, score: float = 1.0) -> Row:
    pair: Pair = TASKS["42e0a640"]
    known = Outcome(score, "", api, api, 9, 9, calls=3, untold=2, unnamed=2, tools_unnamed=1)
    looked_up = Outcome(1.0, "", found, found, 9, 9, lookups=found - api)
    return Row(pair, Outcome(1.0, "", gui, gui, 9, 9), known, looked_up)


def test_the_share_is_of_the_sum_with_looks_and_of_tasks_that_all_ways_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert concluded([row(9, 3, 4), row(21, 5, 6)])
    out = capsys.readouterr().out
    assert (
        "steps: 30 by the GUI; tools known: 8, ratio 0.27; tools looked up: 10, ratio 0.33" in out
    )
    assert "does not have: 4 of 6, with arguments that it does not even name: 4" in out
    assert "looks, a tool once a run: 2; 2 where names of arguments are enough" in out
    assert "steps where names are enough: 10, ratio 0.33" in out
    assert not concluded([row(9, 3, 4), row(20, 5, 6)]), "a third by tools that are known alone"
    assert "NOT HELD" in capsys.readouterr().out
    assert not concluded([row(30, 4, 4), row(30, 1, 1, score=0.0)])
    assert "not counted: 42e0a640, since" in capsys.readouterr().out
    assert not concluded([])


def test_the_prompt_tells_all_of_a_call_or_names_or_nothing() -> None:
    listed = (
        "<tools>\nInput: an object of the arguments.\n"
        'calc_read(cells: str = ""): Read cells.\n'
        "calc_: write(cell, values), chart(cells, kind, …), fill, write_all(more)\n"
        "browser_: bookmark(address?)\n</tools>\n<history>\nfill(cells)\n</history>"
    )
    assert told_of(listed, "calc_read", ["cells"]) == "all"
    assert told_of(listed, "calc_write", ["cell", "values"]) == "names"
    assert told_of(listed, "browser_bookmark", []) == "names"
    assert told_of(listed, "calc_chart", ["cells", "title"]) == ""
    assert told_of(listed, "calc_fill", ["cells"]) == "", "its name alone"
    assert told_of(listed, "calc_pivot", []) == ""
    assert told_of("<history>\ncalc_read(cells): x\n</history>", "calc_read", []) == ""


@pytest.mark.desktop
async def test_a_task_is_done_all_ways_and_waiting_is_no_step(tmp_path: Path) -> None:
    pair = TASKS["42e0a640"]
    gui, api, found = [await tried(pair.path, pair.moves[way], way, tmp_path) for way in WAYS]
    assert (gui.score, api.score, found.score) == (1, 1, 1), gui.detail + api.detail + found.detail
    assert (gui.steps, api.steps) == (5, 3), "each move, and the end"
    assert (gui.actions, api.actions) == (7, 2)
    assert 0 < found.lookups <= api.untold
    assert found.steps == api.steps + found.lookups
    assert gui.tokens_in > api.tokens_in > 0
    assert found.tokens_in > api.tokens_in
