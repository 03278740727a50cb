"""A computer-use model's requests: as the log has them, and the whole state in them."""

from __future__ import annotations

from pathlib import Path

from hisa.agent import run_sync
from hisa.config import Settings
from hisa.plugins.computer_use.responses_server import ResponsesServer, computer_call, function_call
from hisa.runs.run_reader import load_run
from hisa.runs.turns import turns
from hisa.testing import FakeEnvironment
from tests.runs.test_turns import restore_pictures


def test_logged_computer_use_request_equals_the_sent_request(tmp_path: Path) -> None:
    click = computer_call({"type": "click", "button": "left", "x": 400, "y": 300})
    look = computer_call({"type": "screenshot"})
    with ResponsesServer([look, click, function_call("termination", value="done")]) as server:
        planner = {"model": "computer-use-preview", "base_url": server.url}
        settings = Settings.model_validate(
            {
                "models": {"planner": planner},
                "patterns": {"enabled": False},
                "run": {"folder": tmp_path, "confirm": "never", "max_steps": 3},
                "state": {"steps": "raw"},
            }
        )
        result = run_sync("Save.", settings=settings, environment=FakeEnvironment())
        run = load_run(result.folder)
        logged_turns = list(turns(run))
        assert [restore_pictures(turn.request, run) for turn in logged_turns] == [
            r.body for r in server.requests
        ]
    assert {turn.api for turn in logged_turns} == {"responses"}
    assert logged_turns[1].pictures
