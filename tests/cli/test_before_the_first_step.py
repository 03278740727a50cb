"""What fails before a run's first step: recalling costs advice, and nothing is scored or left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hisa.events import Failed
from hisa.runs.run_reader import list_runs, load_run
from hisa.testing.model_server import FakeServer, Fault, Line, ReceivedRequest, Reply
from tests.cli.command import Command, endless
from tests.plugins.benchmarks.bench_suite.forms import write_task
from tests.plugins.benchmarks.bench_suite.test_guests import hisa
from tests.plugins.desktop.test_desktops import hisa as hisa_with_desktops
from tests.stock.stock_guest import StockGuest
from tests.test_conclusion import ADA

SYNTHESIS = "# Pattern synthesis"
SETTLE = ("--set", "environment.settle=0.5")
own_desktops = hisa_with_desktops


def with_lesson(folder: Path) -> Command:
    """A command whose store holds a lesson for the task."""
    command = hisa(folder)
    condition = 'Click the "Name" field. Type "Ada". Click the "Save" button.'
    lesson = ("patterns", "add", "Look at the form twice.", "--domain", "right")
    command.run(*lesson, "--condition", condition)
    return command


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return write_task(tmp_path / "tasks", "Ada")


@pytest.mark.process
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Fault("empty"), ""),
        (Fault("status", status=400), "ModelUnavailable"),
        (None, "StoreError"),
    ],
    ids=["empty", "model down", "store down"],
)
def test_a_run_goes_on_when_nothing_can_be_recalled(
    answer: Reply | None, kind: str, tmp_path: Path, task: Path
) -> None:
    command = with_lesson(tmp_path)
    if answer is None:
        for file in (tmp_path / "patterns").rglob("*"):
            if file.is_file():
                file.write_bytes(b"damaged")

    def answer_or_default(received: ReceivedRequest) -> Reply:
        is_synthesis = received.job == SYNTHESIS and answer is not None
        return answer if is_synthesis and answer is not None else endless(received)

    with (
        StockGuest() as guest,
        FakeServer([Line(reply, "planner") for reply in ADA], then=answer_or_default) as server,
    ):
        command.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
        words = ("run", str(task), "--env", f"guest={guest.url}", "--model", "m", "--json")
        code, output, errors = command.run_to_end(*words, "--no-report", *SETTLE)
        synthesis_requests = [received for received in server.requests if received.job == SYNTHESIS]
    assert code == 0, errors
    assert json.loads(output)["score"] == 1.0
    assert len(synthesis_requests) <= 2, "an empty answer is one, and is not asked for again"
    (folder,) = list_runs(tmp_path / "runs")
    failed = [event for event in load_run(folder).events if isinstance(event, Failed)]
    assert [event.kind for event in failed if "pattern" in event.where][:1] == [kind] * bool(kind)


@pytest.fixture
def no_planner() -> Iterator[FakeServer]:
    with FakeServer(then=lambda _: Fault("status", status=400)) as server:
        yield server


@pytest.mark.desktop
def test_a_run_without_a_step_has_no_score_no_files_and_no_desktop(
    own_desktops: Command, no_planner: FakeServer, tmp_path: Path
) -> None:
    goes_on = "sh -c 'while sleep 0.2; do date > ~/set-up; done'"
    check = {"file": "/home/user/form.txt", "contains": ["Ada"]}
    tree = {"instruction": "Write Ada.", "setup": [{"launch": goes_on}], "check": [check]}
    path = tmp_path / "late.yaml"
    path.write_text(yaml.safe_dump(tree), "utf-8")
    own_desktops.environ |= {"OPENAI_BASE_URL": no_planner.url, "OPENAI_API_KEY": "x"}
    words = ("run", str(path), "--env", "desktop", "--model", "m", "--fetch", "~/set-up")
    result = own_desktops.json(*words, "--set", "environment.settle=3", code=3)
    assert (result["score"], result["score_state"]) == (None, "unscored")
    assert (result["status"], result["steps"]) == ("model_error", 0)
    assert (result["made"], result["fetched"]) == ([], [])
    assert own_desktops.json("desktop", "ls") == []
