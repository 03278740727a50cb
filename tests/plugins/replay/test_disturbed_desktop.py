"""A demonstration played where a dialog comes in the middle: it halts, and no key reaches that."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.demonstrations import DEMOS, PERTURBATIONS
from benchmarks.replay_demonstrations import made, played_once
from benchmarks.replay_plays import settings_in

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(not shutil.which("pcmanfm"), reason="no pcmanfm"),
]


async def test_keys_stay_out_of_a_dialog_that_came_up(tmp_path: Path) -> None:
    demo = next(demo for demo in DEMOS if demo.name == "files")
    case = next(case for case in PERTURBATIONS if case.name == "dialog")
    settings = settings_in(tmp_path / "runs")
    program, known = await made(demo, tmp_path, settings)
    row = await played_once(demo, case, program, tmp_path / demo.name, known, settings)
    assert row["outcome"] in ("halted before effect", "effect unknown"), row
    assert "Disk" in row["reason"], "the dialog was there, and is named"
    assert (row["met"], row["ended"], row["wrong"]) == ([], False, False)
