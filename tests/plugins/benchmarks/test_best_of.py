"""``hisa run --attempts``: on a stock guest that is reverted, with models that follow a script."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hisa.runs.run_reader import list_runs
from hisa.testing.model_server import FakeServer, Fault, ReceivedRequest
from hisa.testing.scripted import tool_call
from tests.cli.command import Command
from tests.never_ending import never_terminate
from tests.plugins.benchmarks.attempt_logs import judgement
from tests.plugins.benchmarks.bench_suite.forms import write_task
from tests.plugins.benchmarks.bench_suite.test_guests import hisa
from tests.stock.stock_guest import GuestFault, StockGuest

pytestmark = pytest.mark.process

SETTLE = ("--set", "environment.settle=0.5")


def typing(name: str) -> list[str]:
    """What a planner says that types a name, saves and ends."""
    field = "pyautogui.click(X_COORD, Y_COORD)"
    return [
        tool_call("gui_action", f"{field}; pyautogui.write('{name}')", "the field labelled Name"),
        tool_call("gui_action", field, "Save"),
        tool_call("termination", f"Typed {name}."),
    ]


class Models:
    """A planner that types a name of its own in each attempt, and a judge."""

    def __init__(self, names: list[str], judge: Callable[[ReceivedRequest], str | Fault]) -> None:
        self.names = names
        self.judge = judge
        self.attempt = -1

    def __call__(self, received: ReceivedRequest) -> str | Fault:
        if received.role == "judge":
            return self.judge(received)
        if received.role != "planner":
            return never_terminate(received.job, received.step, received.text_by("user"))
        self.attempt += received.step == 1 and not received.text_by("assistant")
        name = self.names[self.attempt]
        return typing(name)[min(received.step, 3) - 1] if name else "nonsense"


def takes(words: str) -> Callable[[ReceivedRequest], str]:
    """A judge that takes the attempt of whose facts these words are a part."""

    def judge(received: ReceivedRequest) -> str:
        attempts_text = received.text_by("user").partition("<attempts>")[2]
        number = attempts_text[: attempts_text.index(words)].rpartition("\nAttempt ")[2].split()[0]
        return judgement(int(number), f"It typed {words}.")

    return judge


@contextlib.contextmanager
def machine(
    folder: Path, models: Models, **faults: list[GuestFault | None]
) -> Iterator[tuple[Command, list[str], FakeServer, StockGuest]]:
    task = write_task(folder / "tasks", "form", expected="ada")
    guest_faults = {f"/{name}": list(fault_list) for name, fault_list in faults.items()}
    with StockGuest(guest_faults) as guest, FakeServer(then=models) as server:
        command = hisa(folder)
        command.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
        command.environ["HISA_PATTERNS__ENABLED"] = "false"
        words = ["run", str(task), "--env", f"guest={guest.url}", "--model", "m", "--no-report"]
        yield command, [*words, *SETTLE], server, guest


def record(folder: Path) -> Any:
    (path,) = (folder / "runs").glob("best-*/attempts.json")
    return json.loads(path.read_text("utf-8"))


def judge_requests(server: FakeServer) -> list[ReceivedRequest]:
    return [request for request in server.requests if request.role == "judge"]


def test_the_judge_picks_and_the_score_of_its_pick_is_the_result(tmp_path: Path) -> None:
    models = Models(["bob", "ada"], takes("ada"))
    with machine(tmp_path, models) as (command, words, server, guest):
        result = command.json(*words, "--attempts", "2", "--fetch", "/home/user/form.txt", code=1)
        assert guest.restored == 2, "each attempt has a fresh machine"
    assert [attempt["score"] for attempt in result["attempts"]] == [0.0, 1.0]
    assert result["chosen"] == result["attempts"][1]["run"] == result["result"]["run"]
    assert (result["by"], result["why"]) == ("judge", "It typed ada.")
    assert result["result"]["success"]
    assert result["result"]["missed"] == ["/home/user/form.txt: not there"], "the form has no disk"
    (judge_request,) = judge_requests(server)
    assert len(judge_request.images) == 2
    stored_record = record(tmp_path)
    assert stored_record["runs"] == [attempt["run"] for attempt in result["attempts"]]
    assert sorted(stored_record["choice"]["order"]) == sorted(stored_record["runs"])
    assert (stored_record["judging"]["calls"], stored_record["judge"]) == (1, "m")
    assert stored_record["judging"]["tokens_in"] > 0
    events = (tmp_path / "runs" / stored_record["id"] / "events.jsonl").read_text("utf-8")
    assert [json.loads(line)["type"] for line in events.splitlines()] == [
        "model_asked",
        "model_called",
        "judged",
    ]
    assert len(command.json("runs", "ls")) == 2, "the record is no run"


def test_a_broken_machine_is_left_out_and_never_judged(tmp_path: Path) -> None:
    models = Models(["bob", "ada"], takes("ada"))
    faults: list[GuestFault | None] = [GuestFault("reset", stays=True)]
    with machine(tmp_path, models, file=faults) as (command, words, server, _):
        result = command.json(*words, "--attempts", "2")
        assert not judge_requests(server)
    assert [attempt["status"] for attempt in result["attempts"]] == [
        "environment_error",
        "succeeded",
    ]
    assert (result["chosen"], result["by"]) == (result["attempts"][1]["run"], "alone")


def test_ctrl_c_keeps_finished_attempts(tmp_path: Path) -> None:
    models = Models(["ada", "bob"], takes("ada"))
    with machine(tmp_path, models) as (command, words, _, _):
        process = command.start(*words, "--attempts", "2")
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "attempt 2 of 2" in "".join(lines) and "step 1 of" in line:
                break
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
        assert process.returncode == 1, errors
        assert "stopped: the runs of 1 of 2 attempts are kept" in rest
    assert not list((tmp_path / "runs").glob("best-*"))
    assert len(list_runs(tmp_path / "runs")) == 2


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--env", "display=:7"], ("'display=:7'", "thrown away", "--env desktop")),
        (
            ["--env", "guest=http://127.0.0.1:9", "--set", "environment.remote.revert="],
            ("guest=http://127.0.0.1:9", "environment.remote.revert=COMMAND"),
        ),
        (["--share", "docs:rw"], ("'docs:rw'", "start alike", "--fetch")),
        (["--attempts", "9"], ("--attempts 9", "from 1 to 8")),
        (["--attempts", "0"], ("--attempts 0", "from 1 to 8")),
    ],
)
def test_attempts_that_cannot_be_compared_are_refused_at_the_start(
    tmp_path: Path, words: list[str], parts: tuple[str, ...]
) -> None:
    command = hisa(tmp_path)
    errors = command.run_refused(
        "run", "Click OK.", "--attempts", "2", "--confirm", "never", *words
    )
    assert all(word in errors for word in parts), errors
    assert not (tmp_path / "runs").exists()
