"""Whole runs in machines, through the command line: done and scored, killed and made again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hisa.events import RunResumed
from hisa.runs.run_reader import list_runs, load_run
from tests.cli.command import Command

pytestmark = pytest.mark.vm

RUN = ("run", "examples/shopping_list.yaml", "--env", "vm:minimal")


def test_a_task_is_done_and_scored_and_nothing_is_left(hisa: Command, own_cache: Path) -> None:
    hisa.run("vm", "build", "minimal")
    result = hisa.json(*RUN)
    assert (result["status"], result["score"]) == ("succeeded", 1.0), result["message"]
    assert list((own_cache / "hisa" / "vm" / "machines").iterdir()) == []


def test_run_with_killed_qemu_has_no_score_and_resumes_in_a_clone(hisa: Command) -> None:
    hisa.run("vm", "build", "minimal")
    runs = hisa.folder / "runs"
    process = hisa.start(*RUN)
    kill_qemu(hisa, runs, process)
    output, errors = process.communicate()
    assert process.returncode == 3, errors
    assert "environment_error" in output
    (folder,) = list_runs(runs)
    assert (load_run(folder).status, load_run(folder).score) == ("environment_error", None)

    result = hisa.json("runs", "resume")
    assert (result["status"], result["score"]) == ("succeeded", 1.0), result["message"]
    (event,) = [event for event in load_run(folder).events if isinstance(event, RunResumed)]
    assert event.desktop == "replayed"


def test_a_bench_makes_an_attempt_again_whose_qemu_was_killed(hisa: Command) -> None:
    hisa.run("vm", "build", "minimal")
    out = hisa.folder / "bench"
    only = ("--task", "shopping-list", "--env", "vm:minimal")
    arguments = ("bench", "run", "own:examples", *only, "--out", str(out))
    process = hisa.start(*arguments)
    kill_qemu(hisa, out / "runs", process)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "1 tries broke a machine" in output
    sums = hisa.json(*arguments)
    assert (sums["attempts"], sums["environment_errors"]) == (2, 1)
    assert (sums["scored"], sums["succeeded"]) == (1, 1)


def kill_qemu(hisa: Command, runs: Path, process: subprocess.Popen[str]) -> None:
    """Kill the only machine, once its run has taken three steps."""
    while not any(len(load_run(folder).steps) > 3 for folder in list_runs(runs)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    (machine,) = hisa.json("vm", "ls")["machines"]
    os.kill(machine["pid"], signal.SIGKILL)
