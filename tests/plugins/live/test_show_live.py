"""``hisa runs show --live`` over runs of another process: one that ends, one that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hisa.events import Noted, PersonActed, RunFinished, RunResumed
from hisa.plugins.live.cli.show_live import show_live
from hisa.plugins.live.server.run_client import RunLine
from hisa.runs.log import RunLog
from hisa.runs.read import Run, list_runs, load_run
from tests.cli.command import Command
from tests.plugins.live.helped_run import helped
from tests.runs.sample import TASK, build

PLAYS = """
import sys, time
from pathlib import Path
from hisa.testing import FakeServer
from tests.runs.test_turns import CLICK, DONE, played

folder, planned = Path(sys.argv[1]), []

def reply(request):
    if request.role != "planner":
        return "0" if request.role == "grounder" else "Succeeded. Something changed."
    planned.append(request)
    for _ in range(600 if len(planned) == 3 else 0):
        if (folder / "go on").exists():
            break
        time.sleep(0.1)
    return DONE if len(planned) == 4 else CLICK

with FakeServer(then=reply) as server:
    played(folder / "runs", server)
"""
"""Plays two steps, and then waits for a file."""


@contextmanager
def played_elsewhere(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Run]]:
    """A process that is in the third step of a run."""
    command = [sys.executable, "-c", PLAYS, str(folder)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[3]) as process:
        try:
            while not (found := list_runs(folder / "runs")) or load_run(found[0]).last_step < 2:
                assert process.poll() is None
            yield process, load_run(found[0])
        finally:
            process.kill()


@contextmanager
def shown(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that shows the run, and has shown what there is of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # else it may be ignored
    with Command(folder).start("runs", "show", "--live") as process:
        signal.signal(signal.SIGINT, before)
        try:
            assert process.stdout is not None
            assert any("running, 2 steps done" in line for line in process.stdout)
            yield process
        finally:
            process.kill()


@pytest.mark.process
def test_a_run_of_another_process_is_shown_until_it_ends(tmp_path: Path) -> None:
    with played_elsewhere(tmp_path) as (_, run), shown(tmp_path) as process:
        (tmp_path / "go on").touch()
        assert process.stdout is not None
        rest = process.stdout.read()
        assert process.wait(60) == 0
    assert "step 4 of at most 4" in rest
    assert f"{run.id} · 4 steps" in rest
    assert "process died" not in rest
    assert load_run(run.folder).ended


@pytest.mark.process
def test_a_run_whose_process_is_killed_says_so(tmp_path: Path) -> None:
    with played_elsewhere(tmp_path) as (played, run), shown(tmp_path) as process:
        played.kill()
        assert process.stdout is not None
        rest = process.stdout.read()
        assert process.wait(60) == 0
    going_on = f"hisa --set run.folder={run.folder.parent} runs resume {run.id}"
    assert f"its process died after step 2: {going_on}" in rest


@pytest.mark.process
def test_ctrl_c_leaves_the_run_alone(tmp_path: Path) -> None:
    with played_elsewhere(tmp_path) as (played, run), shown(tmp_path) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert f"run {run.id} goes on" in process.stdout.read()
        assert process.wait(60) == 0
        (tmp_path / "go on").touch()
        assert played.wait(60) == 0
    assert load_run(run.folder).last_step == 4


def test_a_run_that_has_ended_is_summed_up_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = helped(tmp_path)
    show_live(run)
    printed = capsys.readouterr().out
    assert f"{run.id} · 4 steps" in printed
    assert "a person took over" in printed
    assert "process died" not in printed


def test_one_that_was_cut_off_earlier_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_live(load_run(build(tmp_path, finish=False)))
    assert "its process died after step 11" in capsys.readouterr().out


def test_pause_question_and_take_over_are_shown_as_they_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RunLog.create(tmp_path, TASK)
    asked: list[Any] = []

    async def ask(self: RunLine, request: Any, seconds: float) -> tuple[dict[str, Any], bytes]:
        asked.append(request)
        question = {"id": "q1", "kind": "acts", "text": "Send \x1b[2Jit?", "choices": []}
        match len(asked):
            case 1:
                log.emit(RunFinished(exit_status="stopped"))
                log.emit(RunResumed())
                return {"ok": False, "error": "is not reached"}, b""
            case 2:
                log.emit(PersonActed(did="took_over"))
                return {"ok": True, "state": "held", "question": None}, b""
            case 3:
                log.emit(Noted(where="machine", text="a note"))
                return {"ok": True, "state": "running", "question": question}, b""
        log.emit(RunFinished(exit_status="succeeded"))
        log.close()
        return {"ok": True, "state": "running", "question": question}, b""

    monkeypatch.setattr(RunLine, "ask", ask)
    show_live(load_run(log.folder))
    printed = capsys.readouterr().out
    wanted = [
        "running, 0 steps",
        "held, 0 steps",
        "a person took over",
        "a person is asked: Send \\x1b[2Jit?",
        "a note",
        "succeeded",
    ]
    places = [printed.find(words) for words in wanted]
    assert -1 not in places, printed
    assert places == sorted(places)
    assert printed.count("Send") == 1
    assert asked == [{"do": "status"}] * 4
