"""A bench through the command line: every kind of end and of score, in all that it prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from hisa.protocols import CommandResult
from tests.cli.command import Command
from tests.plugins.benchmarks.bench_suite.test_guests import FIXED, hisa
from tests.stock.stock_guest import GuestFault, StockGuest

ANY = {"file": "/home/user/form.txt"}
TASKS: dict[str, list[dict[str, str]] | None] = {
    "a-good": [{**ANY, "equals": "a-good"}],
    "b-claimed": None,
    "c-broken-check": [{"python": "c.py:check"}],
    "d-wrong": [{**ANY, "equals": "something else"}],
    "e-dies": [{**ANY, "equals": "e-dies"}],
}
"""One task for each way to end, in the order in which they run."""


def suite(folder: Path) -> Path:
    folder.mkdir()
    for name, check in TASKS.items():
        typed = f'Click the "Name" field. Type "{name}". Click the "Save" button.'
        tree: dict[str, Any] = {"id": name, "instruction": typed}
        if check is not None:
            tree["check"] = check
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(tree), "utf-8")
    (folder / "c.py").write_text("def check(): return True\n", "utf-8")
    return folder


def bench(command: Command, folder: Path, tasks: Path, url: str) -> Any:
    out = ("--out", str(folder), "--env", f"guest={url}", *FIXED)
    return command.json("bench", "run", f"own:{tasks}", *out, code=3)


def ends(folder: Path, read: Callable[[dict[str, Any]], Any]) -> dict[str, list[Any]]:
    """What the ledger says of the tries of each task."""
    rows = [json.loads(line) for line in (folder / "attempts.jsonl").read_text().splitlines()]
    finished = [row for row in rows if row["type"] == "finished"]
    return {name: [read(row) for row in finished if row["task"] == name] for name in TASKS}


@pytest.mark.process
def test_every_kind_of_end_is_distinguished_in_all_bench_output(tmp_path: Path) -> None:
    command, out = hisa(tmp_path), tmp_path / "bench"
    tasks = suite(tmp_path / "tasks")
    dies = GuestFault("reset", stays=True)

    def run(words: Sequence[str]) -> CommandResult | None:
        """Without a Python for checks, so that the third reads no file."""
        return CommandResult(127, "", "not found") if "sha256" in words[-1] else None

    with StockGuest({"/file": [None, None, *[dies] * 30]}, run=run) as guest:
        sums = bench(command, out, tasks, guest.url)
        again = bench(command, out, tasks, guest.url)
    assert again == sums, "nothing is due any more"
    tries = ends(out, lambda row: row["status"])
    assert tries["e-dies"] == ["environment_error"] * 3, "its guest dies while it is scored"
    assert tries["c-broken-check"] == ["succeeded"], "a broken check is no broken machine"
    assert (sums["scored"], sums["succeeded"], sums["given_up"]) == (2, 1, 1)
    assert (sums["no_check"], sums["score_failed"], sums["unscored"]) == (1, 1, 0)
    assert sums["environment_errors"] == 3
    assert ends(out, lambda row: (row["status"], row["score_state"], row["score"])) == {
        "a-good": [("succeeded", "scored", 1.0)],
        "b-claimed": [("succeeded", "no_check", None)],
        "c-broken-check": [("succeeded", "score_failed", None)],
        "d-wrong": [("succeeded", "scored", 0.0)],
        "e-dies": [("environment_error", "unscored", None)] * 3,
    }
    command.run("bench", "report", str(out))
    page = (out / "report.html").read_text("utf-8")
    head = (
        "1 of 2 scored succeeded, of 5 planned, 1 without a check, 1 whose check failed, 1 given up"
    )
    assert head in page
    table = command.run("bench", "report", str(out), "--print", "Without a score")
    for row in (
        "| b-claimed | full | 1 | succeeded, no check |",
        "| c-broken-check | full | 1 | succeeded, check failed | check 'c.py:check' needs Python",
        "| e-dies | full | 1 | given up after 3 tries | could not be scored",
    ):
        assert row in table.replace("\\", "")
    rows = {
        row["task"]["id"]: row
        for row in command.json("--set", f"run.folder={out}/runs", "runs", "ls")
    }
    assert {name: rows[name]["score_state"] for name in TASKS} == {
        "a-good": "scored",
        "b-claimed": "no_check",
        "c-broken-check": "score_failed",
        "d-wrong": "scored",
        "e-dies": "unscored",
    }
    output = command.run("--set", f"run.folder={out}/runs", "runs", "show", rows["e-dies"]["id"])
    assert "environment_error, not scored" in output
