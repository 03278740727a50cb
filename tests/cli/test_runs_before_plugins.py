"""Runs and benches written before HiSA had plugins, killed, and resumed by the present code.

Their files name what the code may not rename: kinds of settings, tools of toolkits, the parts of a
benchmark's task, models, variants and suites. "{folder}" stands for the folder they are in.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hisa.events import Acted, Chosen, Evaluated, Grounded, Judged, Planned, RunResumed, Sampled
from hisa.runs.read import load_run
from hisa.testing.model_server import FakeServer, Received
from hisa.testing.scripted import tool_call
from tests.cli.command import ROOT, Command, endless
from tests.plugins.benchmarks.bench_suite.forms import PARTS

BEFORE = ROOT / "tests" / "data" / "before_plugins"
KILLED, SAMPLED = "20261124-194441-291c", "20261124-194445-e461"
"""While a command ran; while the third step's two samples were asked for."""
FINISHED = ("20261124-194450-5504", "20261124-194451-a256", "20261124-194452-c44d")
CUT_OFF = "20261124-194453-7e1c"
"""Of the bench, in the order in which they began."""
ON_THE_FORM = ("--environment", PARTS, "--set", "patterns.enabled=false")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("tasks", "spider2v", "bench", "public_bench"):
        shutil.copytree(BEFORE / name, tmp_path / name)
    for name, place in (
        ("single", "runs"),
        ("bench_runs", "bench/runs"),
        ("public_bench_runs", "public_bench/runs"),
    ):
        shutil.copytree(BEFORE / name, tmp_path / place)
    for path in [*tmp_path.rglob("run.json"), *tmp_path.rglob("bench.json")]:
        path.write_text(path.read_text("utf-8").replace("{folder}", str(tmp_path)), "utf-8")
    return tmp_path


def ends(received: Received) -> str:
    """A planner that ends the run, and a judge that agrees."""
    match received.role:
        case "planner":
            return tool_call("termination", "All of it is done.")
        case "judge":
            return json.dumps({"explaining": "It is done.", "index": 1})
        case _:
            return endless(received)


def bench_command(folder: Path) -> Command:
    command = Command(folder)
    command.environ["PYTHONPATH"] = str(ROOT)
    return command


def page(hisa: Command, run: str) -> str:
    return Path(hisa.run("runs", "report", run).strip().splitlines()[-1]).read_text("utf-8")


def attempts(bench: Path) -> list[dict[str, Any]]:
    text = (bench / "attempts.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.process
def test_runs_are_listed_shown_and_reported(folder: Path) -> None:
    hisa = Command(folder)
    listed = {row["id"]: row["status"] for row in hisa.json("runs", "ls")}
    assert listed == {KILLED: "unfinished", SAMPLED: "unfinished"}
    shown = hisa.run("runs", "show", KILLED)
    assert "Write the names Ada, Grace and Edith" in shown
    assert "files_write" in shown
    assert "/home/user/Documents/names.txt reads back as written" in page(hisa, KILLED)
    step = hisa.run("runs", "show", SAMPLED, "--step", "2")
    assert "chosen: 1: picked by the judge (3 samples, 3 distinct, widened because two" in step
    text = page(hisa, SAMPLED)
    assert "The menu that was asked for." in text
    assert "the purple dragon" in text
    first, second, third = load_run(folder / "runs" / SAMPLED).steps
    assert first.planned is not None
    assert [call.input for call in first.planned.following] == [
        "pyautogui.press('enter')",
        "pyautogui.hotkey('ctrl', 's')",
    ]
    assert [event.tool for event in first.events if isinstance(event, Acted)] == ["gui_action"] * 3
    assert [(place.source, place.label) for place in second.places] == [
        ("accessibility", 'menu "Edit"')
    ]
    assert third.finished is None


@pytest.mark.desktop
def test_a_run_killed_in_a_step_is_resumed_and_scored_by_its_benchmark(folder: Path) -> None:
    before = load_run(folder / "runs" / KILLED)
    with FakeServer(then=ends) as server:
        result = Command(folder, url=server.url).json("runs", "resume", KILLED)
        asked = next(request for request in server.requests if request.role == "planner")
    assert (result["status"], result["steps"], result["score"]) == ("succeeded", 3, 1.0)
    assert asked.step == 3
    assert "sleep 30" not in asked.text, "a step that was cut off is begun anew"
    assert "files_write" in asked.text
    after = load_run(folder / "runs" / KILLED)
    assert after.events[: len(before.events)] == before.events
    (resumed,) = (event for event in after.events if isinstance(event, RunResumed))
    assert resumed.desktop == "replayed"
    (evaluated,) = (event for event in after.events if isinstance(event, Evaluated))
    assert evaluated.judged_by, "ours, or OSWorld's own where its package is installed"
    assert "check_include_exclude: 1" in evaluated.detail
    assert "exact_match: 1" in evaluated.detail


@pytest.mark.desktop
def test_a_run_with_sequences_and_samples_is_resumed(folder: Path) -> None:
    before = load_run(folder / "runs" / SAMPLED)
    with FakeServer(then=ends) as server:
        result = Command(folder, url=server.url).json("runs", "resume", SAMPLED)
        roles = Counter(request.role for request in server.requests)
    assert (result["status"], result["steps"], result["score"]) == ("succeeded", 3, 1.0)
    assert (roles["planner"], roles["judge"]) == (2, 1), "the two that agree on an end are judged"
    after = load_run(folder / "runs" / SAMPLED)
    assert after.events[: len(before.events)] == before.events
    added = after.events[len(before.events) :]
    (chosen,) = (event for event in added if isinstance(event, Chosen))
    assert (chosen.by, chosen.samples) == ("judge", 2)
    kinds = Counter(type(event) for event in added)
    assert (kinds[Sampled], kinds[Judged], kinds[Planned], kinds[Grounded]) == (2, 1, 1, 0)
    totals = after.totals.sampling
    assert totals is not None
    assert (totals.decisions, totals.samples, totals.agreed, totals.judged) == (3, 7, 1, 2)
    (file,) = after.manifest.results.fetched
    assert (after.folder / file.place).read_text("utf-8") == "Ada\n"
