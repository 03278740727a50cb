"""The short form's requests, as the log has them."""

from __future__ import annotations

from pathlib import Path

from hisa.testing import FakeServer
from tests.runs.test_turns import answer, assert_same, run_with_server


def test_logged_short_form_turns_equal_the_sent_requests(tmp_path: Path) -> None:
    tab = '{"thought": "", "action": "press", "text": "tab"}'
    planned = [tab, tab, '{"thought": "", "action": "impossible", "text": "no change"}']
    planner = {"kind": "short", "sees": "elements"}
    constrained = {"planner": {"constrain": True, "profile": "small"}}
    with FakeServer(then=answer(planned)) as server:
        run = run_with_server(tmp_path, server, planner=planner, models=constrained)
        logged_turns = assert_same(run, server)
    schemas = [
        turn.request.get("response_format") for turn in logged_turns if turn.role == "planner"
    ]
    assert all(schemas)
    assert [turn.reply for turn in logged_turns if turn.role == "planner"] == planned
