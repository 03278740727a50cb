from __future__ import annotations

import json
from pathlib import Path

import pytest

from hisa.errors import UsageError
from hisa.events import (
    Evaluated,
    Observed,
    Planned,
    RunFinished,
    RunResumed,
    StepFinished,
)
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.runs.run_reader import (
    find_run,
    list_runs,
    load_run,
    read_events,
)
from hisa.runs.step_records import group
from tests.runs.sample import START, build

TASK = Task("t", "Do it.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("runs"))


def create_runs(root: Path, *names: str) -> Path:
    with RunLog.create(root, TASK) as log:
        manifest = log.manifest
    for name in names:
        (root / name).mkdir()
        manifest.model_copy(update={"id": name}).write(root / name / "run.json")
    return log.folder


def test_a_finished_run_reads_back_completely(folder: Path) -> None:
    run = load_run(folder)
    assert (run.status, run.score, run.message) == ("succeeded", 1.0, "done")
    assert run.manifest.totals.roles == run.totals.roles
    assert run.totals.seconds == pytest.approx(run.events[-1].at - START)
    assert run.totals.steps == run.last_step == 11
    assert [record.number for record in run.steps] == list(range(1, 12))
    assert [pattern.superseded for pattern in run.induced] == ["p-0b9e"]
    assert (run.skipped, run.torn, run.running) == (0, False, False)


def test_steps_hold_their_own_events(folder: Path) -> None:
    steps = {record.number: record for record in load_run(folder).steps}
    third = steps[3]
    assert third.planned is not None
    assert third.planned.description == "cell B5"
    assert third.source == "pyautogui.click(277, 277)"
    assert [reply.attempt for reply in third.rejected] == [1]
    assert [failure.kind for failure in third.model_failures] == ["rate_limit"]
    assert third.planner_tokens == 2040
    assert third.seconds == pytest.approx(1.2 + 0.06 + 0.24 + 0.31 + 0.42)
    assert steps[6].not_found[0].candidates
    assert steps[7].loops[0].times == 3
    assert [number for number, record in steps.items() if record.refined] == [5, 10]
    assert not steps[11].failures, "what breaks after the last step is not the step's"


def test_a_killed_run_is_unfinished_and_its_step_in_flight(tmp_path: Path) -> None:
    run = load_run(build(tmp_path, finish=False))
    assert (run.status, run.score, run.last_step) == ("unfinished", None, 11)
    assert run.steps[-1].number == 12
    assert run.steps[-1].finished is None


def test_an_interrupted_step_is_separate_from_its_second_run() -> None:
    look = Observed(image="a" * 64, width=8, height=8, screen_width=8, screen_height=8)
    first = Planned(step=2, thought="first", tool="wait", input="1")
    second = first.model_copy(update={"thought": "second"})
    events = (
        look,
        StepFinished(step=1),
        first,
        RunResumed(step=1),
        look.model_copy(update={"step": 1, "image": "b" * 64}),
        second,
        StepFinished(step=2),
    )
    records = group(events)
    assert [(r.number, r.interrupted, bool(r.finished)) for r in records] == [
        (1, False, True),
        (2, True, False),
        (2, False, True),
    ]
    assert records[2].before is not None
    assert records[2].before.image == "b" * 64


def test_a_run_that_goes_on_has_not_ended(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, TASK) as log:
        log.emit(RunFinished(exit_status="stopped"))
        log.emit(RunResumed())
        assert load_run(log.folder).status == "running"
    assert load_run(log.folder).status == "unfinished"


def test_score_is_read_from_the_evaluation_if_the_end_lacks_it(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, TASK) as log:
        log.emit(Evaluated(score=0.25))
        log.emit(RunFinished(exit_status="succeeded"))
    assert load_run(log.folder).score == 0.25


def test_unknown_and_damaged_lines_are_counted_and_passed_over(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, TASK) as log:
        log.emit(RunResumed())
    path = log.folder / "events.jsonl"
    known = path.read_bytes()
    newer = json.dumps({"v": 2, "type": "teleported", "at": 1, "step": 1}).encode() + b"\n"
    later = json.loads(known) | {"unheard_of": 1, "v": 7}
    lines = [newer, b"not json\n", b"\xff\xfe\n", b"\n", known, json.dumps(later).encode() + b"\n"]
    path.write_bytes(b"".join(lines))
    reader = read_events(path)
    assert [event.v for event in reader] == [1, 7]
    assert reader.skipped == 4


def test_runs_are_found_by_id_by_either_end_and_by_latest(tmp_path: Path) -> None:
    newest = create_runs(tmp_path, "20200101-000000-aaaa", "20200102-000000-bbbb")
    assert [path.name for path in list_runs(tmp_path)][1:] == [
        "20200102-000000-bbbb",
        "20200101-000000-aaaa",
    ]
    assert find_run("latest", tmp_path) == newest
    assert find_run("20200102", tmp_path).name == "20200102-000000-bbbb"
    assert find_run("aaaa", tmp_path).name == "20200101-000000-aaaa"
    assert load_run("20200101-000000-aaaa", tmp_path).id == "20200101-000000-aaaa"


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "", ".hidden", "/etc", "a\x00b", "a\n"])
def test_a_name_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    create_runs(tmp_path)
    with pytest.raises(UsageError, match="is not a run id"):
        find_run(name, tmp_path)


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    folder = create_runs(tmp_path)
    (folder / "run.json").write_text("{")
    with pytest.raises(UsageError, match="is damaged"):
        load_run(folder)
    with pytest.raises(UsageError, match="is not a run folder"):
        load_run(tmp_path)


def test_pictures_are_found_by_hash_only(folder: Path, tmp_path: Path) -> None:
    run = load_run(folder)
    look = run.steps[0].before
    assert look is not None
    assert run.image(look.image) == folder / "images" / f"{look.image}.png"
    assert run.image("0" * 64) is None
    assert run.image("../run.json") is None
    link = folder / "images" / f"{'1' * 64}.png"
    link.symlink_to("/etc/hostname")
    assert run.image("1" * 64) is None
    link.unlink()
