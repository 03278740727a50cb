from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.errors import UsageError
from hisa.events import (
    Acted,
    Event,
    ModelCalled,
    Planned,
    RunFinished,
    RunResumed,
    StepFinished,
    event_adapter,
)
from hisa.protocols import Task
from hisa.runs.event_line import FIELD_LIMIT, LINE_LIMIT, encode, is_cut
from hisa.runs.log import RunLog
from hisa.runs.run_reader import is_running, load_run, read_events, read_manifest
from hisa.screen.observation import Screenshot
from tests.runs.sample import screen

TASK = Task("t1", "Do it.", setup=({"type": "open"},), check={"func": "x"}, folder="/tasks")

WRITER = """
import sys
from pathlib import Path
from hisa.events import Planned
from hisa.protocols import Task
from hisa.runs.log import RunLog

log = RunLog.create(Path(sys.argv[1]), Task("t", "loop"))
print(log.folder, flush=True)
number = 0
while True:
    number += 1
    log.step = number
    log.emit(Planned(thought="x" * 3000, tool="wait", input=str(number)))
    print(number, flush=True)
"""


def start(script: str, *args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, args)], stdout=subprocess.PIPE, text=True
    )


def test_new_run_records_its_manifest_and_counts_as_running(tmp_path: Path) -> None:
    with RunLog.create(
        tmp_path / "runs", TASK, settings={"run": {"seed": 7}}, models={"planner": "m"}, seed=7
    ) as log:
        log.amend(environment="desktop", desktop={"pid": 5})
        manifest = read_manifest(log.folder)
        assert is_running(log.folder)
    assert manifest.id == log.id == log.folder.name
    assert manifest.task.task() == TASK
    assert manifest.settings == {"run": {"seed": 7}}
    assert (manifest.seed, manifest.models) == (7, {"planner": "m"})
    assert (manifest.environment, manifest.desktop) == ("desktop", {"pid": 5})
    assert manifest.versions.keys() == {"hisa", "python", "platform"}
    assert manifest.exit_status is None
    assert not is_running(log.folder)


def test_the_manifest_counts_steps_tokens_and_money(tmp_path: Path) -> None:
    called = ModelCalled(role="planner", model="m", tokens_in=100, tokens_out=10, images=1, usd=0.5)
    with RunLog.create(tmp_path, TASK) as log:
        log.step = 1
        log.emit(called)
        log.emit(called.model_copy(update={"role": "state", "usd": None}))
        log.emit(StepFinished(seconds={"plan": 1.0}))
        halfway = read_manifest(log.folder)
        log.emit(RunFinished(exit_status="max_steps", message="enough", score=0.5))
    manifest = read_manifest(log.folder)
    assert halfway.totals.steps == manifest.totals.steps == 1
    assert (manifest.totals.tokens, manifest.totals.usd) == (220, 0.5)
    assert manifest.totals.roles["state"].unpriced == 1
    assert (manifest.exit_status, manifest.message, manifest.score) == ("max_steps", "enough", 0.5)
    assert manifest.finished_at is not None


async def test_a_picture_is_written_once_under_its_hash(tmp_path: Path) -> None:
    shot = screen()
    with RunLog.create(tmp_path, TASK) as log:
        names = {await log.save(shot), await log.save(Screenshot.from_png(shot.png))}
    assert names == {shot.sha256}
    (path,) = (log.folder / "images").iterdir()
    assert path.name == f"{shot.sha256}.png"
    assert Screenshot.from_png(path.read_bytes()).sha256 == shot.sha256


@pytest.mark.process
def test_emitted_events_survive_kill_9_and_the_run_reopens(tmp_path: Path) -> None:
    child = start(WRITER, tmp_path)
    assert child.stdout is not None
    folder = Path(child.stdout.readline().strip())
    read_number = 0
    while read_number < 300:
        read_number = int(child.stdout.readline())
    with pytest.raises(UsageError, match=rf"living process \(pid {child.pid}\)"):
        RunLog.reopen(folder)
    assert load_run(folder).status == "running"
    child.send_signal(signal.SIGKILL)
    acknowledged = [read_number, *map(int, child.stdout.read().split())][-1]
    child.stdout.close()
    child.wait()

    steps = [event.step for event in read_events(folder)]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) >= acknowledged
    assert load_run(folder).status == "unfinished"
    with RunLog.reopen(folder) as log:
        log.emit(RunResumed(detail="after the kill"))
    assert load_run(folder).events[-1].type == "run_resumed"


def test_a_torn_line_is_put_aside_and_the_log_goes_on_after_it(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, TASK) as log:
        log.step = 1
        log.emit(StepFinished())
        log.emit(Planned(thought="cut", tool="wait", input="1"))
    path = log.folder / "events.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-30])

    torn = load_run(log.folder)
    assert torn.torn
    assert [event.type for event in torn.events] == ["step_finished"]
    with RunLog.reopen(log.folder) as again:
        assert again.step == 1
        again.emit(RunResumed())
    run = load_run(log.folder)
    assert [event.type for event in run.events] == ["step_finished", "run_resumed"]
    assert not run.torn
    assert run.skipped == 0
    torn_line = (log.folder / "events.jsonl.torn").read_bytes()
    assert torn_line == content[:-30].splitlines()[-1] + b"\n"


def test_reopening_counts_again_and_forgets_the_old_end(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, TASK) as log:
        start = log.manifest.started_at
        log.step = 1
        log.emit(ModelCalled(role="state", model="m", tokens_in=5, tokens_out=1, at=start + 1))
        log.emit(StepFinished(at=start + 2))
        log.emit(RunFinished(exit_status="stopped", at=start + 3))
    stale = read_manifest(log.folder)
    stale.totals.roles.clear()
    stale.write(log.folder / "run.json")
    with RunLog.reopen(log.folder) as again:
        again.emit(RunResumed(at=start + 1000))
        again.emit(StepFinished(step=2, at=start + 1004))
    manifest = read_manifest(log.folder)
    assert (manifest.exit_status, manifest.finished_at, manifest.resumed) == (None, None, 1)
    assert manifest.totals.tokens == 6
    assert manifest.totals.steps == 2
    assert manifest.totals.seconds == pytest.approx(3 + 4)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file") as caught:
        RunLog.create(tmp_path / "file", TASK)
    assert "run.folder" in caught.value.fix


@pytest.mark.process
def test_a_full_disk_is_an_error_and_leaves_complete_lines(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from hisa.errors import LogFailed
from hisa.events import Planned
from hisa.protocols import Task
from hisa.runs.log import RunLog

log = RunLog.create(Path(sys.argv[1]), Task("t", "fill"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    while True:
        log.emit(Planned(thought="x" * 900, tool="wait", input="1"))
except LogFailed as error:
    print(log.folder)
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )
    folder, message = result.stdout.splitlines()
    reader = read_events(Path(folder))
    assert len(list(reader)) > 40
    assert not reader.torn
    assert "cannot write" in message


def encode_and_read(event: Event) -> Event:
    line = encode(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    return event_adapter.validate_json(line)


def test_giant_texts_are_cut_and_say_so() -> None:
    event = Acted(tool="bash_execution", input="x" * 1_000_000, ok=True, output="short")
    read = encode_and_read(event)
    assert isinstance(read, Acted)
    assert read.input.startswith("x" * FIELD_LIMIT)
    assert len(read.input) < FIELD_LIMIT + 60
    assert is_cut(read.input)
    assert read.output == "short"
    assert not is_cut(read.output)


def test_many_long_texts_are_cut_together() -> None:
    event = Planned(thought="t", tool="x", input={str(n): "y" * 15_000 for n in range(500)})
    assert len(encode(event)) < LINE_LIMIT + 500 * 60


@pytest.mark.parametrize(
    "value",
    ["\ud800 lone", {"a": float("nan")}, {"b": {1, 2}}, b"\xff", object(), 10**400, {3: "n"}],
)
def test_values_json_does_not_know_are_still_written(value: object) -> None:
    read = encode_and_read(Planned(thought="t", tool="x", input=value))
    assert isinstance(read, Planned)
    assert read.tool == "x"


def test_endless_nesting_is_cut() -> None:
    value: list[object] = []
    for _ in range(900):
        value = [value]
    assert b"nested more than" in encode(Planned(thought="t", tool="x", input=value))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values, st.text())
def test_any_model_text_makes_one_readable_line(value: object, thought: str) -> None:
    read = encode_and_read(Planned(thought=thought, tool="x", input=value))
    assert isinstance(read, Planned)
    assert read.thought == thought.encode("utf-8", "replace").decode()


def test_a_variable_that_the_settings_name_holds_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE", "of the rising sun")
    settings = {"models": {"planner": {"api_key_env": "HOUSE"}, "state": None}}
    with RunLog.create(tmp_path, Task("t", "x"), settings=settings) as log:
        event = log.emit(Planned(thought="of the rising sun", tool="wait", input=""))
    assert isinstance(event, Planned)
    assert event.thought == "[redacted]"


def test_a_run_that_an_older_version_left_open_is_closed_to_others(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, Task("t", "x")) as log:
        folder = log.folder
    folder.chmod(0o755)
    RunLog.reopen(folder).close()
    assert folder.stat().st_mode & 0o777 == 0o700
