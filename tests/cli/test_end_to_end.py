"""The whole of HiSA on a real desktop, through its command line, as a user meets it."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest

from hisa.events import (
    Acted,
    Grounded,
    Guidance,
    ModelFailed,
    Planned,
    PlanRejected,
    RunResumed,
)
from hisa.runs.run_reader import Run, load_run
from hisa.testing.model_server import FakeServer, Fault, Line, ReceivedRequest
from tests.cli.command import Command, endless

pytestmark = pytest.mark.desktop

GOOD = json.dumps({"thought": "ok", "tool": "gui_action", "input": "pyautogui.press('down')"})
DONE = json.dumps({"thought": "ok", "tool": "termination", "input": "done"})
STILL = ("--set", "environment.settle=0.2")
"""No window is open that keys could change."""


def latest(command: Command) -> Run:
    return load_run("latest", command.folder / "runs")


def test_a_task_is_done_on_a_real_editor_and_helps_the_next_one(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    first = hisa.json("run", "examples/guest_list.yaml")
    assert (first["status"], first["score"]) == ("succeeded", 1.0)
    assert first["steps"] >= 6
    run = latest(hisa)
    kinds = {event.tool for event in run.events if isinstance(event, Planned)}
    assert {"gui_action", "termination"} <= kinds
    places = [p for event in run.events if isinstance(event, Grounded) for p in event.places]
    assert len(places) >= 3
    typed = [e.input for e in run.events if isinstance(e, Acted) and "write" in str(e.input)]
    assert any("Björn" in str(source) for source in typed)
    assert Path(first["report"]).stat().st_size > 10_000
    assert "offline" in first["models"]["planner"]

    second = hisa.json("run", "examples/packing_list.yaml")
    assert second["score"] == 1.0
    (guidance,) = [event for event in latest(hisa).events if isinstance(event, Guidance)]
    (used,) = [pattern for pattern in guidance.patterns if pattern.source_run == first["run"]]
    assert used.shown
    assert f"- [p1] {used.lesson}" in guidance.advice
    thoughts = [event.thought for event in latest(hisa).events if isinstance(event, Planned)]
    assert any("[p1]" in thought for thought in thoughts)
    assert second["steps"] < first["steps"]
    page = Path(second["report"]).read_text("utf-8")
    assert first["run"] in page

    (listed,) = hisa.json("patterns", "ls")
    assert (listed["id"], listed["scope"]) == (used.id, "application")
    assert (listed["uses"], listed["scored"], listed["wins"]) == (1, 1, 1)
    rows = hisa.json("patterns", "search", 'Click "Word Wrap" in the text editor')
    assert [row["retrieved"] for row in rows] == [True]
    shown = hisa.run("patterns", "show", used.id)
    assert first["run"] in shown
    assert "1 run, 1 of 1 scored won" in shown


def test_a_spreadsheet_is_filled_and_saved_in_another_format(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    result = hisa.json("run", "examples/price_table.yaml")
    assert (result["status"], result["score"]) == ("succeeded", 1.0), result["message"]


def test_a_task_with_partial_credit_is_done_wholly(tmp_path: Path) -> None:
    result = Command(tmp_path).json("run", "examples/laptop_order.yaml")
    assert (result["score"], result["partial"]) == (1.0, 1.0), result["score_detail"]


def test_a_run_survives_every_fault_of_a_server(tmp_path: Path) -> None:
    script: list[str | Fault] = [
        Fault("status", status=429, retry_after="0.1"),
        GOOD,
        Fault("status", status=500),
        GOOD,
        Fault("cut_off"),
        Fault("cut_connection"),
        Fault("html"),
        f"Of course! Here you are:\n```json\n{GOOD}\n```\nGood luck.",
        GOOD[:-9],
        GOOD.replace("gui_action", "mouse_tool"),
        GOOD.replace('"thought"', '"idea"'),
        Fault("empty"),
        Fault("hang"),
        GOOD,
        DONE,
    ]
    lines = [Line(reply, "planner") for reply in script]
    with FakeServer(lines, then=endless) as server:
        hisa = Command(tmp_path, url=server.url)
        patience = "--set=models.planner.timeout=2"
        result = hisa.json("run", "Press keys.", "--model", "anything", patience, *STILL)
        assert server.left == 0
    assert result["status"] == "succeeded"
    events = latest(hisa).events
    failures = [event.kind for event in events if isinstance(event, ModelFailed)]
    assert {"rate_limit", "server", "timeout", "empty"} <= set(failures)
    assert len(failures) >= 6
    rejected = [event.error for event in events if isinstance(event, PlanRejected)]
    assert len(rejected) == 3
    assert any("unknown tool 'mouse_tool'" in error for error in rejected)
    assert any("unknown key 'idea'" in error for error in rejected)


class _Pausing:
    """Answers up to a step, then hangs until it is told to go on."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.reached = False

    def __call__(self, received: ReceivedRequest) -> str | Fault:
        if received.role == "planner" and received.step > self.step:
            self.reached = True
            return Fault("hang")
        return endless(received)

    def wait(self) -> None:
        deadline = time.monotonic() + 120
        while not self.reached:
            assert time.monotonic() < deadline, "the run did not get there"
            time.sleep(0.05)


def test_a_killed_run_is_readable_and_goes_on_with_its_desktop(tmp_path: Path) -> None:
    pause = _Pausing(6)
    with FakeServer(then=pause) as server:
        hisa = Command(tmp_path, url=server.url)
        process = hisa.start(
            "run", "Press keys.", "--model", "anything", "--max-steps", "8", *STILL
        )
        pause.wait()
        process.kill()
        process.communicate()

        run = latest(hisa)
        assert (run.status, run.last_step) == ("unfinished", 6)
        assert "unfinished" in hisa.run("runs", "ls")
        assert "Press keys." in hisa.run("runs", "show", "latest")
        hisa.run("runs", "report", "latest")

        pause.step = 99
        before = len(server.requests)
        result = hisa.json("runs", "resume", "latest", code=1)
        requests = [request for request in server.requests if request.role == "planner"]
        resumed = [r for r in server.requests[before:] if r.role == "planner"]
    assert (result["status"], result["steps"]) == ("max_steps", 8)
    assert [request.step for request in resumed] == [7, 8]
    assert {len(request.images) for request in requests} == {1}
    last_line = [step.abstracted.line for step in run.steps if step.abstracted][-1]
    assert last_line in resumed[0].text
    assert resumed[0].text.count("<refined_context>") == 1
    (event,) = [event for event in latest(hisa).events if isinstance(event, RunResumed)]
    assert event.desktop == "reattached"
    assert latest(hisa).status == "max_steps"
    _end_desktop(latest(hisa))


def test_ctrl_c_stops_a_run_that_is_replayed_where_its_desktop_is_gone(tmp_path: Path) -> None:
    pause = _Pausing(2)
    with FakeServer(then=pause) as server:
        hisa = Command(tmp_path, url=server.url)
        process = hisa.start(
            "run", "Press keys.", "--model", "anything", "--max-steps", "4", *STILL
        )
        pause.wait()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 1, errors
        assert "runs resume" in output
        assert re.search(r"desktop +\w+ stays up with \d+ MB .*hisa desktop stop \w+", output)
        assert latest(hisa).status == "stopped"
        _end_desktop(latest(hisa))
        pause.step = 99
        result = hisa.json("runs", "resume", code=1)
    assert (result["status"], result["steps"]) == ("max_steps", 4)
    (event,) = [event for event in latest(hisa).events if isinstance(event, RunResumed)]
    assert event.desktop == "replayed"


def _end_desktop(run: Run) -> None:
    """End a desktop that a run left up, as a reboot would."""
    from hisa.errors import EnvironmentFailed
    from hisa.plugins.desktop.runtime import DesktopRuntime

    try:
        runtime = DesktopRuntime.attach(run.manifest.desktop)
    except EnvironmentFailed:
        return
    runtime.stop()
