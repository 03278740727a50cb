"""Runs and a bench as version 1 of HiSA's forms has them: every later HiSA reads and resumes them.

A finished run of the offline model, one that was killed in mid-step, one with two samples a step,
and a bench of two tasks and two variants whose last attempt was cut off. "{folder}" stands for the
folder they are in.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from hisa.events import Chosen, RunResumed
from hisa.plugins.benchmarks.bench.bench_report import build_report
from hisa.runs.export import select_turns
from hisa.runs.run_reader import list_runs, load_run
from tests.cli.command import ROOT, Command
from tests.plugins.benchmarks.bench_suite.forms import PARTS

WRITTEN = ROOT / "tests" / "data" / "runs_of_version_1"
DONE, KILLED, SAMPLED = sorted(path.name for path in (WRITTEN / "runs").iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(WRITTEN, tmp_path, dirs_exist_ok=True)
    for path in [*tmp_path.rglob("*.json"), *tmp_path.rglob("*.jsonl")]:
        path.write_text(path.read_text("utf-8").replace("{folder}", str(tmp_path)), "utf-8")
    return tmp_path


@pytest.mark.process
def test_old_runs_are_listed_shown_and_reported(folder: Path) -> None:
    hisa = Command(folder)
    listed = {row["id"]: row["status"] for row in hisa.json("runs", "ls")}
    assert listed == {DONE: "succeeded", KILLED: "unfinished", SAMPLED: "succeeded"}
    for run in listed:
        assert "gui_action" in hisa.run("runs", "show", run) or run == SAMPLED
        page = Path(hisa.run("runs", "report", run).strip().splitlines()[-1])
        assert run in page.read_text("utf-8")
    fetched = load_run(folder / "runs" / DONE).manifest.results.fetched
    assert [(file.place, file.size) for file in fetched] == [("files/hi.txt", 5)]


def test_their_model_calls_are_complete(folder: Path) -> None:
    runs = [load_run(path) for path in list_runs(folder / "runs")]
    turns = list(select_turns(runs))
    assert {turn.run for turn in turns} == {DONE, KILLED, SAMPLED}
    assert all(turn.request["messages"] and turn.reply for turn in turns)
    events = load_run(folder / "runs" / SAMPLED).events
    assert [event.samples for event in events if isinstance(event, Chosen)] == [2, 2]


@pytest.mark.desktop
def test_killed_old_run_resumes_at_its_last_step(folder: Path) -> None:
    before = load_run(folder / "runs" / KILLED)
    result = Command(folder).json("runs", "resume", KILLED)
    after = load_run(folder / "runs" / KILLED)
    assert (result["status"], after.status) == ("succeeded", "succeeded")
    assert after.events[: len(before.events)] == before.events
    (resumed,) = (event for event in after.events if isinstance(event, RunResumed))
    assert resumed.desktop == "replayed"


@pytest.mark.process
def test_the_bench_makes_the_attempt_that_was_cut_off_again(folder: Path) -> None:
    hisa, bench = Command(folder), folder / "bench"
    hisa.environ["PYTHONPATH"] = str(ROOT)
    before = (bench / "attempts.jsonl").read_text("utf-8").splitlines()
    sums = hisa.json(
        "bench", "run", f"own:{folder / 'tasks'}", "--out", str(bench),
        "--ablate", "full", "--ablate", "no-roi",
        "--environment", PARTS, "--set", "patterns.enabled=false",
        "--set", "patterns.collection=version_1",
    )  # fmt: skip
    assert (sums["slots"], sums["scored"], sums["succeeded"], sums["missing"]) == (4, 4, 2, 0)
    rows = (bench / "attempts.jsonl").read_text("utf-8").splitlines()
    assert rows[: len(before)] == before
    types = Counter(json.loads(row)["type"] for row in rows)
    assert (types["finished"], types["lost"]) == (4, 1)
    assert [variant.rate for variant in build_report(bench).variants] == [0.5, 0.5]
