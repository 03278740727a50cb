"""A report says how it was counted and what was given up; others are not held against it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hisa.plugins.benchmarks.bench.attempt_records import Slot
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from tests.cli.command import Command
from tests.plugins.benchmarks.bench_suite.sample import fill, plan

pytestmark = pytest.mark.process


def bench(folder: Path, *, broken: bool = True) -> Path:
    """Seven tasks done, and one whose machine broke in each try."""
    ledger = AttemptLedger(folder, plan(tasks=8))
    for number in range(8):
        slot = Slot("full", f"task-{number:02}", 1)
        for _ in range(3 if broken and number == 7 else 1):
            gone = broken and number == 7
            status, score = ("environment_error", None) if gone else ("succeeded", 1.0)
            fill(ledger, slot, steps=2, status=status, score=score)
    ledger.close()
    return folder


def as_older(folder: Path) -> Path:
    """The same, as written by a HiSA to which a machine that the agent broke was any other."""
    path = folder / "attempts.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps({**row, "v": 1}) + "\n" for row in rows), "utf-8")
    return folder


@pytest.mark.parametrize("which", ["ours", "theirs"])
def test_a_bench_that_was_counted_otherwise_is_not_compared(tmp_path: Path, which: str) -> None:
    folders = {name: bench(tmp_path / name) for name in ("ours", "theirs")}
    as_older(folders[which])
    words = ("bench", "report", str(folders["ours"]), "--against", str(folders["theirs"]))
    errors = Command(tmp_path).refused(*words)
    assert f"{which}' was counted by version 1, this is 2: of 3 tries" in errors


def test_an_older_bench_of_which_nothing_is_open_is_counted_anew(tmp_path: Path) -> None:
    ours, theirs = bench(tmp_path / "ours"), as_older(bench(tmp_path / "theirs", broken=False))
    words = ("bench", "report", str(ours), "--against", str(theirs), "--json")
    report = json.loads(Command(tmp_path).run(*words))
    assert report["counting"] == 2
    assert [row["rate"] for row in report["variants"]] == [1.0, 1.0]


def test_what_was_given_up_stands_beside_the_rate_with_what_it_is_of(tmp_path: Path) -> None:
    folder = bench(tmp_path / "ours")
    Command(tmp_path).run("bench", "report", str(folder))
    head = (folder / "report.md").read_text("utf-8").splitlines()[2].replace("\\", "")
    assert "success rate 100.0% over 7 scored attempts, 1 of 8 given up" in head
    page = (folder / "report.html").read_text("utf-8")
    assert "1 of 8 given up" in page.partition("</ul>")[0], "with the numbers on top"
    table = next(
        line for line in (folder / "report.md").read_text().splitlines() if "| full" in line
    )
    assert "1 of 8 given up" in table
