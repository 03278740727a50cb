"""Runs and benches on stock OSWorld guests that break: tried again on a reverted one, never a 0."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hisa.events import Failed, Noted
from hisa.runs.run_reader import Run, list_runs, load_run, read_manifest
from tests.cli.command import ROOT, Command
from tests.environments.stock import REVERT
from tests.plugins.benchmarks.bench_suite.forms import write_task
from tests.stock.stock_guest import GuestFault, StockGuest

pytestmark = pytest.mark.process

FIXED = ("--set", "patterns.enabled=false", "--set", "environment.settle=0.5")


def hisa(folder: Path, *, revert: str = REVERT, patience: float = 1.0) -> Command:
    command = Command(folder)
    command.environ |= {
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "HISA_ENVIRONMENT__REMOTE__PATIENCE": str(patience),
    }
    if revert:
        command.environ["HISA_ENVIRONMENT__REMOTE__REVERT"] = revert
    return command


def run_form(folder: Path, guest: StockGuest, *, code: int = 0, **more: Any) -> tuple[Any, Run]:
    task = write_task(folder / "tasks", "ada")
    words = ("run", str(task), "--no-report", "--env", f"guest={guest.url}", *FIXED)
    result = hisa(folder, **more).json(*words, code=code)
    (run_folder,) = list_runs(folder / "runs")
    return result, load_run(run_folder)


def test_an_act_whose_answer_is_lost_ends_the_run_and_scores_nothing(tmp_path: Path) -> None:
    with StockGuest({"act": [None, GuestFault("after")]}) as guest:  # first the pointer goes there
        result, run = run_form(tmp_path, guest, code=3)
        acted = guest.desktop.form.acted
        assert [action.kind for action in acted if action.kind != "move"] == ["click"]
    assert (result["status"], result["score"]) == ("environment_error", None)
    (failed,) = (event for event in run.events if isinstance(event, Failed))
    assert "may have run" in failed.message or "no answer" in failed.message


def test_a_machine_that_is_not_reverted_is_noted_and_is_somebodys(tmp_path: Path) -> None:
    with StockGuest() as guest:
        words = ("run", "Wait.", "--env", f"guest={guest.url}", *FIXED)
        assert "standard input is no terminal" in hisa(tmp_path, revert="").run_refused(*words)
        result = hisa(tmp_path, revert="").json(
            *words, "--no-report", "--confirm", "never", "--max-steps", "1", code=1
        )
        run = load_run(Path(result["folder"]))
    assert any("left as it is" in event.text for event in run.events if isinstance(event, Noted))


def test_resumed_run_reverts_the_guest_and_repeats_its_acts(tmp_path: Path) -> None:
    with StockGuest({"act": [None, None, GuestFault("reset", stays=True)]}) as guest:
        result, _ = run_form(tmp_path, guest, code=3)
        assert result["steps"] >= 1
        gone_on = hisa(tmp_path).json("runs", "resume", result["run"])
        assert guest.desktop.form.text == "ada"
    assert (gone_on["status"], gone_on["score"]) == ("succeeded", 1.0)


def test_two_workers_on_two_guests_that_break(tmp_path: Path) -> None:
    names = [f"form{number}" for number in range(4)]
    for name in names:
        write_task(tmp_path / "tasks", name)
    good = [None] * 6
    first = StockGuest({"/execute": [*good, GuestFault("after", stays=True)]})
    web = GuestFault("html", stays=True)
    second = StockGuest({"/screenshot": [*good, web], "/file": [web]})
    out = tmp_path / "bench"
    with first, second:
        sums = hisa(tmp_path).json(
            "bench",
            "run",
            f"own:{tmp_path / 'tasks'}",
            "--env",
            f"guest={first.url},{second.url}",
            "--workers",
            "2",
            "--out",
            str(out),
            *FIXED,
        )
        reverted = first.restored + second.restored
    assert (sums["slots"], sums["scored"], sums["succeeded"]) == (4, 4, 4)
    assert sums["environment_errors"] >= 2
    assert sums["attempts"] == 4 + sums["environment_errors"]
    assert reverted == sums["attempts"], "each attempt begins with a reverted machine"
    manifests = [read_manifest(folder) for folder in list_runs(out / "runs")]
    assert {manifest.environment for manifest in manifests} == {first.url, second.url}
    broken = [m.score for m in manifests if m.exit_status == "environment_error"]
    assert set(broken) == {None}
    assert 0.0 not in [manifest.score for manifest in manifests]


def test_a_machine_that_cannot_be_reverted_gives_up_without_a_score(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks", "ada")
    out = tmp_path / "bench"
    with StockGuest() as guest:
        sums = hisa(tmp_path, revert="sh -c 'echo no snapshot; exit 7'").json(
            "bench",
            "run",
            f"own:{tmp_path / 'tasks'}",
            "--env",
            f"guest={guest.url}",
            "--out",
            str(out),
            *FIXED,
            code=3,
        )
    assert (sums["scored"], sums["given_up"], sums["environment_errors"]) == (0, 1, 3)
    rows = [json.loads(line) for line in (out / "attempts.jsonl").read_text().splitlines()]
    messages = [row["message"] for row in rows if row["type"] == "finished"]
    assert all(re.search("revert failed: sh ended with 7: no snapshot", line) for line in messages)


@pytest.mark.parametrize(
    ("revert", "arguments", "message"),
    [
        ("", ("--env", "guest=a"), "environment.remote.revert"),
        ("x", ("--env", "guest=a", "--workers", "2"), "2 workers but 1 guest"),
        ("x", ("--env", "guest=a,b", "--workers", "2", "--ray", "h:1"), "locked on one machine"),
        ("{nmae}", ("--env", "guest=a"), "unknown placeholder {nmae}"),
    ],
)
def test_a_bench_that_cannot_be_is_refused_before_it_starts(
    tmp_path: Path, revert: str, arguments: tuple[str, ...], message: str
) -> None:
    command = hisa(tmp_path, revert=revert)
    errors = command.run_refused("bench", "run", "own:examples", *arguments, "--out", str(tmp_path))
    assert message in errors
    assert "try:" in errors
