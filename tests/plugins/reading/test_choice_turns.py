"""A model that picks from a list: its refused answer and the correction, as the log has them."""

from __future__ import annotations

from pathlib import Path

from hisa.testing import FakeServer, tool_call
from hisa.testing.model_server import ReceivedRequest
from tests.runs.test_turns import answer, assert_same, run_with_server


def test_choice_without_a_number_is_corrected(tmp_path: Path) -> None:
    unsure = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "what keeps the words")
    planned = answer([unsure])

    def reply(request: ReceivedRequest) -> str:
        return "perhaps" if request.role == "grounder" else planned(request)

    with FakeServer(then=reply) as server:
        run = run_with_server(tmp_path, server, models={"grounder": {"model": "gpt-4o"}})
        logged_turns = assert_same(run, server)
    first, second, *_ = (turn for turn in logged_turns if turn.role == "grounder")
    assert second.corrects == first.id
    assert "no number from 0 to" in first.refused
