from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hisa.errors import UsageError
from hisa.runs.export import TurnFilter, export_turns
from hisa.runs.turns import Turn


def test_filters_leave_out_what_was_not_wanted(tmp_path: Path) -> None:
    def turn(**more: Any) -> Turn:
        fields = {"id": "a", "run": "r", "task": "t", "step": 1, "role": "planner", "model": "m"}
        return Turn.model_validate({**fields, "request": {}, "reply": "x", **more})

    scored = turn(score=0.5, score_state="scored", outcome="succeeded")
    assert TurnFilter(min_score=0.5).takes(scored)
    assert not TurnFilter(min_score=0.6).takes(scored)
    assert not TurnFilter(min_score=0.0).takes(turn()), "unscored is not 0"
    assert not TurnFilter(roles=frozenset({"judge"})).takes(scored)
    assert not TurnFilter(outcomes=frozenset({"failed"})).takes(scored)
    for lacking in ({"redacted": True}, {"cut": True}, {"reply": None}, {"machine_failed": True}):
        assert not TurnFilter(whole=True).takes(turn(**lacking))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        export_turns([], tmp_path / "file" / "t.jsonl")
