"""The bench of tools beside the GUI: its scripts hold together, and one task is done both ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.api_gui.__main__ import Row, concluded
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
                assert way == "api" or move.tool == "gui_action", pair.name
                tools[move.tool].arguments(move.input)
                if isinstance(move.input, str):
                    parse(move.input)


def row(gui: int, api: int, score: float = 1.0) -> Row:
    pair: Pair = TASKS["42e0a640"]
    return Row(pair, Outcome(1.0, "", gui, gui, 9, 9), Outcome(score, "", api, api, 9, 9))


def test_the_share_is_of_the_sum_and_of_tasks_that_both_ways_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert concluded([row(9, 4), row(21, 6)])
    assert "steps: 30 by the GUI, 10 with tools, ratio 0.33" in capsys.readouterr().out
    assert not concluded([row(9, 4), row(20, 6)])
    assert "NOT HELD" in capsys.readouterr().out
    assert not concluded([row(30, 4), row(30, 1, score=0.0)])
    assert "not counted: 42e0a640, since" in capsys.readouterr().out
    assert not concluded([])


@pytest.mark.desktop
async def test_a_task_is_done_both_ways_and_waiting_is_no_step(tmp_path: Path) -> None:
    pair = TASKS["42e0a640"]
    gui, api = [await tried(pair.path, pair.moves[way], way, tmp_path) for way in WAYS]
    assert (gui.score, api.score) == (1, 1), gui.detail + api.detail
    assert (gui.steps, api.steps) == (5, 3), "each move, and the end"
    assert (gui.actions, api.actions) == (7, 2)
    assert gui.tokens_in > api.tokens_in > 0
