"""``hisa bench`` as a user meets it: real processes, killed and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hisa.runs.run_reader import list_runs, read_manifest
from tests.cli.command import ROOT, Command
from tests.plugins.benchmarks.bench_suite.forms import PARTS, write_task

pytestmark = pytest.mark.process

FIXED = ("--environment", PARTS, "--set", "patterns.enabled=false")


def hisa(folder: Path, *, seconds: float = 0.0) -> Command:
    command = Command(folder)
    command.environ |= {"PYTHONPATH": str(ROOT), "FORM_SECONDS": str(seconds)}
    return command


def lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / "attempts.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def await_that(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_attempts_survive_the_death_of_a_worker_and_of_the_command(
    tmp_path: Path,
) -> None:
    """No attempt is lost, none is counted twice, and every try is kept."""
    for number in range(8):
        write_task(tmp_path / "tasks", f"form{number:02}", expected="x" if number == 3 else None)
    out = tmp_path / "bench"
    suite = f"own:{tmp_path / 'tasks'}"
    options = ("--workers", "4", "--repeat", "2", "--out", str(out), *FIXED)
    arguments = ("bench", "run", suite, *options)
    slow = hisa(tmp_path, seconds=0.1)

    def count_finished() -> int:
        return sum(row["type"] == "finished" for row in lines(out))

    process = slow.start(*arguments)
    await_that(lambda: count_finished() >= 2, process)
    running = [row for row in lines(out) if row["type"] == "running"]
    assert running
    finished_slots = {
        (row["task"], row["repeat"]) for row in lines(out) if row["type"] == "finished"
    }
    open_now = [
        row
        for row in lines(out)
        if row["type"] == "started" and (row["task"], row["repeat"]) not in finished_slots
    ]
    os.kill(int(open_now[-1]["worker"].rsplit(":", 1)[1]), signal.SIGKILL)
    await_that(lambda: any(row["type"] == "lost" for row in lines(out)), process)
    before = count_finished()
    await_that(lambda: count_finished() >= before + 2, process)
    process.kill()
    process.communicate(timeout=60)
    finished_count = count_finished()
    assert finished_count < 16

    sums = hisa(tmp_path).json(*arguments)
    assert (sums["slots"], sums["scored"], sums["succeeded"]) == (16, 16, 14)
    assert (sums["missing"], sums["given_up"]) == (0, 0)
    rows = lines(out)
    results = Counter((row["task"], row["repeat"]) for row in rows if row["type"] == "finished")
    assert len(results) == 16
    assert set(results.values()) == {1}
    started = Counter(
        (row["task"], row["repeat"], row["try"]) for row in rows if row["type"] == "started"
    )
    assert set(started.values()) == {1}
    causes = Counter(row["cause"] for row in rows if row["type"] == "lost")
    assert causes["worker"] == 1
    assert 1 <= causes["bench"] <= 4
    assert len(started) == 16 + causes["worker"] + causes["bench"]
    # The worker tells of its run folder a moment after it made it: a kill may fall in between.
    running_runs = {row["run"] for row in rows if row["type"] == "running"}
    run_names = {folder.name for folder in list_runs(out / "runs")}
    assert running_runs <= run_names
    assert len(run_names) <= len(started)
    scored = Counter(
        read_manifest(out / "runs" / row["run"]).score for row in rows if row["type"] == "finished"
    )
    assert scored == {1.0: 14, 0.0: 2}
    assert hisa(tmp_path).json(*arguments)["attempts"] == sums["attempts"]


def test_ctrl_c_stops_the_runs_and_the_same_command_goes_on(tmp_path: Path) -> None:
    for number in range(4):
        write_task(tmp_path / "tasks", f"form{number}")
    out = tmp_path / "bench"
    arguments = ("bench", "run", f"own:{tmp_path / 'tasks'}", "--workers", "2", "--out", str(out))
    process = hisa(tmp_path, seconds=0.3).start(*arguments, *FIXED)
    await_that(lambda: any(row["type"] == "finished" for row in lines(out)), process)
    await_that(lambda: lines(out)[-1]["type"] == "running", process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert "resume with the same command" in output
    assert "Traceback" not in errors
    lost = [row for row in lines(out) if row["type"] == "lost"]
    assert lost
    assert {row["cause"] for row in lost} == {"bench"}
    for folder in list_runs(out / "runs"):
        assert read_manifest(folder).exit_status in ("succeeded", "stopped", None)
    sums = hisa(tmp_path).json(*arguments, *FIXED)
    assert (sums["scored"], sums["succeeded"]) == (4, 4)


@pytest.mark.desktop
def test_real_desktops_side_by_side(tmp_path: Path) -> None:
    for name in ("milk", "bread"):
        text = f'Open the text editor. Type "{name}". Save the file as "/home/user/{name}.txt".'
        check = f"{{file: /home/user/{name}.txt, contains: {name}}}"
        folder = tmp_path / "tasks"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(f"instruction: '{text}'\ncheck: {check}\n")
    out = tmp_path / "bench"
    sums = hisa(tmp_path).json(
        "bench", "run", f"own:{tmp_path / 'tasks'}", "--workers", "2", "--out", str(out)
    )
    assert (sums["scored"], sums["succeeded"], sums["lost"]) == (2, 2, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "own:none"), "no folder 'none'"),
        (("run", "own:examples", "--env", "display=:0"), "a bench asks nobody"),
        (
            ("run", "own:examples", "--independent", "--set", "patterns.path=elsewhere"),
            "--independent, and patterns.path = 'elsewhere'",
        ),
        (
            ("run", "own:examples", "--set", "tasks.instructions=verbose"),
            "tasks of 'own:examples' have one form",
        ),
        (("report", "none"), "'none' is not a bench folder"),
    ],
)
def test_wrong_usage_is_one_line_and_the_fix(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    out = ("--out", str(tmp_path / "bench")) if arguments[0] == "run" else ()
    errors = hisa(tmp_path).run_refused("bench", *arguments, *out)
    assert message in errors
    assert "try:" in errors
