"""Run folders as an earlier HiSA wrote them: done, out of steps, and killed in mid-step."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hisa.runs.read import load_run
from tests.cli.command import ROOT, Command

OLD = ROOT / "tests" / "data" / "runs_of_0_1_0"
DONE, OUT_OF_STEPS, KILLED = (
    "20261122-033308-053d", "20261122-033315-bf04", "20261122-033339-e639",
)  # fmt: skip


@pytest.fixture
def hisa(tmp_path: Path) -> Command:
    shutil.copytree(OLD, tmp_path / "runs")
    return Command(tmp_path)


@pytest.mark.process
def test_old_runs_are_listed_shown_and_reported(hisa: Command) -> None:
    listed = {row["id"]: row["status"] for row in hisa.json("runs", "ls")}
    assert listed == {DONE: "succeeded", OUT_OF_STEPS: "max_steps", KILLED: "unfinished"}
    for run, first in ((DONE, "bash_execution"), (OUT_OF_STEPS, "bash_execution")):
        assert first in hisa.run("runs", "show", run)
        page = Path(hisa.run("runs", "report", run).strip().splitlines()[-1])
        text = (page if page.is_absolute() else ROOT / page).read_text("utf-8")
        assert "Window “Untitled 1 - Mousepad” appeared" in text
    done = load_run(hisa.folder / "runs" / DONE)
    assert done.manifest.results.fetched[0].place == "files/hi.txt"
    assert (done.scoring.partial, done.manifest.partial) == (None, None), "nobody wrote it down"


@pytest.mark.process
@pytest.mark.parametrize("run", [DONE, OUT_OF_STEPS])
def test_old_runs_become_no_programs_for_want_of_elements(hisa: Command, run: str) -> None:
    assert "elements_sha256" not in (hisa.folder / "runs" / run / "events.jsonl").read_text("utf-8")
    programs = hisa.folder / "programs"
    errors = hisa.refused("compile", run, "-o", "note", "--programs", str(programs))
    assert f"{run}: its log has no elements, so that nothing in it can be found again" in errors
    assert "try: run it again on a machine that tells its elements: --env desktop" in errors
    assert not list(programs.glob("*"))


@pytest.mark.desktop
@pytest.mark.parametrize("run", [OUT_OF_STEPS, KILLED])
def test_old_runs_go_on_where_they_ended(hisa: Command, run: str) -> None:
    before = load_run(hisa.folder / "runs" / run)
    result = hisa.json("runs", "resume", run, "--max-steps", "50")
    after = load_run(hisa.folder / "runs" / run)
    assert (result["status"], after.status) == ("succeeded", "succeeded")
    assert after.events[: len(before.events)] == before.events
    assert max(event.step for event in after.events) > max(event.step for event in before.events)
