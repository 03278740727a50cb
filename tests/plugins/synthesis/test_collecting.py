"""Runs collected and graded: by rules, by a scripted judge; resumed, and drawn by reward."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hisa.config import Settings
from hisa.errors import InvalidReply, UsageError
from hisa.machine.storage import Lock
from hisa.plugins.synthesis.cli.data_sets import collect
from hisa.plugins.synthesis.data.trajectories import Trajectory, read_trajectories
from hisa.plugins.synthesis.data.trajectory_rewards import (
    Collection,
    Grade,
    draw_runs,
    grade,
    read_grades,
    step_lines,
)
from hisa.plugins.synthesis.model_instructions import Writer
from hisa.testing.scripted import ScriptedModel
from tests.bench import Bench, click, finish, say

_WELL = (click("Name field", "pyautogui.write('Ada')"), click("Save button"), finish())
_BADLY = (click("Agree check box"), say("infeasible", "I cannot do this."))
_IDLE = (say("wait", "0"), say("wait", "0"), finish())
_MARKS = {"reason": "It is done.", "completion": 4, "coherence": 5, "reward": 4}


def _run(folder: Path, replies: Sequence[str]) -> Path:
    """The folder of a finished run on a form in memory, without a check."""
    bench = Bench(folder, ScriptedModel(replies))
    asyncio.run(bench.run())
    return bench.log.folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for replies in (_WELL, _BADLY, _IDLE):
        _run(folder, replies)
    return folder


def _trajectories(runs: Path) -> list[Trajectory]:
    trajectories, left_out = read_trajectories([runs])
    assert not left_out
    return sorted(
        trajectories, key=lambda trajectory: -len([s for s in trajectory.steps if s.actions])
    )


def _grade_by_model(
    trajectory: Trajectory, *replies: str, sees: bool = True
) -> tuple[Grade, ScriptedModel]:
    model = ScriptedModel(replies, name="judge-1")
    return asyncio.run(grade(trajectory, Writer(model, sees, "judge"))), model


def test_rules_prefer_finished_runs_and_never_see_the_score(runs: Path) -> None:
    well, badly, idle = (asyncio.run(grade(trajectory, None)) for trajectory in _trajectories(runs))
    assert well.reward == 5 > badly.reward >= idle.reward == 1
    assert (well.judge, well.completion) == ("rules", 5)
    assert "done" in well.reason
    assert "gave up" in badly.reason
    for trajectory in _trajectories(runs):
        other = Trajectory(**{**vars(trajectory), "score": 1.0, "success": not trajectory.success})
        assert asyncio.run(grade(other, None)) == asyncio.run(grade(trajectory, None))


def test_rules_see_that_a_run_was_cut_off_or_not_saved(runs: Path) -> None:
    well = _trajectories(runs)[0]
    steps = well.steps[:1]
    cut_off = Trajectory(**{**vars(well), "steps": steps, "status": "max_steps"})
    unsaved = Trajectory(**{**vars(well), "steps": (*steps, well.steps[-1])})
    assert asyncio.run(grade(cut_off, None)).completion <= 3
    assert "not saved" in asyncio.run(grade(unsaved, None)).reason


def test_a_judge_sees_the_steps_and_the_last_three_pictures(runs: Path) -> None:
    trajectory = _trajectories(runs)[0]
    mark, model = _grade_by_model(trajectory, json.dumps(_MARKS))
    request = model.requests[0]
    assert (mark.reward, mark.judge, mark.run) == (4, "judge-1", trajectory.id)
    assert (request.role, request.images) == ("judge", 3)
    assert trajectory.instruction in request.text
    assert all(line in request.text for line in step_lines(trajectory))
    assert request.schema is not None
    assert next(iter(request.schema["properties"])) == "reason"


def test_a_judge_without_eyes_gets_windows_and_texts(runs: Path) -> None:
    _, model = _grade_by_model(_trajectories(runs)[0], json.dumps(_MARKS), sees=False)
    assert not model.requests[0].images
    assert "<screens untrusted>" in model.requests[0].text
    assert "Ada" in model.requests[0].text.partition("<screens untrusted>")[2]


@pytest.mark.parametrize(
    "reply",
    ["5", "{}", json.dumps(_MARKS | {"reward": 6}), json.dumps(_MARKS | {"more": 1}), "x" * 30_000],
)
def test_after_an_unusable_reply_one_more_request_is_sent(runs: Path, reply: str) -> None:
    mark, model = _grade_by_model(_trajectories(runs)[0], reply, json.dumps(_MARKS))
    assert (mark.reward, len(model.requests)) == (4, 2)
    with pytest.raises(InvalidReply):
        _grade_by_model(_trajectories(runs)[0], reply, reply)


def test_collection_continues_at_its_last_grade(runs: Path, tmp_path: Path) -> None:
    def grade_runs(limit: int | None = None) -> list[Grade]:
        collection = Collection(tmp_path)
        collection.add_runs([runs])
        return asyncio.run(collection.grade(None, lambda _: None, limit))

    assert len(grade_runs(limit=1)) == 1
    with (tmp_path / "grades.jsonl").open("ab") as file:
        file.write(b'{"run": "torn')
    assert len(grade_runs()) == 3
    lines = (tmp_path / "grades.jsonl").read_text().splitlines()
    assert len(grade_runs()) == len(lines) == len(read_grades(tmp_path)) == 3
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 3


def test_damaged_runs_are_counted_and_the_others_graded(tmp_path: Path) -> None:
    folders = [_run(tmp_path / "runs", _WELL), _run(tmp_path / "runs", _BADLY)]
    collection = Collection(tmp_path)
    collection.add_runs([tmp_path / "runs"])
    for elements in (folders[0] / "elements").iterdir():
        elements.write_text("[[")
    assert len(asyncio.run(collection.grade(None, lambda _: None))) == 1
    assert sum(collection.left_out.values()) == 1


def test_a_run_that_was_cut_off_is_collected_with_unproved(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "collected"
    replies = (click("Name field", "pyautogui.write('Ada')"), click("Save button"), finish())
    bench = Bench(runs, ScriptedModel(replies))
    asyncio.run(bench.run())
    cut_off = runs / "cut-off"
    shutil.copytree(bench.log.folder, cut_off)
    for name in ("run.json", "events.jsonl"):
        text = (cut_off / name).read_text().replace(bench.log.folder.name, "cut-off")
        lines = [json.loads(line) for line in text.splitlines()] if "events" in name else []
        for line in lines:
            if "exit_status" in line:
                line["exit_status"] = "budget"
        content = "".join(json.dumps(line) + "\n" for line in lines) if lines else text
        (cut_off / name).write_text(content)

    def count_collected(*more: str) -> int:
        result = CliRunner().invoke(
            collect,
            ["-o", str(out), "--from", str(runs), *more],
            obj=Settings(),
            catch_exceptions=False,
        )
        assert result.exit_code == 0, result.output
        return len(Collection(out).runs)

    assert count_collected() == 1
    assert count_collected("--unproved") == 2
    assert {grade.run for grade in read_grades(out)} == {"cut-off", bench.log.folder.name}
    trajectories, left_out = read_trajectories([out])
    assert len(trajectories) == 2, left_out
    assert sum(trajectory.truncated for trajectory in trajectories) == 1


def test_the_command_grades_and_refuses(runs: Path, tmp_path: Path) -> None:
    def invoke(*words: str) -> Result:
        arguments = ["-o", str(tmp_path / "out"), *words]
        return CliRunner().invoke(collect, arguments, obj=Settings(), standalone_mode=False)

    assert isinstance(invoke().exception, UsageError)
    result = invoke("--from", str(runs))
    assert (result.return_value, "3 of 3 runs graded by rules" in result.stdout) == (0, True)
    lock = Lock.take(tmp_path / "out" / ".collect.lock")
    assert lock is not None
    assert isinstance(invoke("--from", str(runs)).exception, UsageError)
    lock.release()


def _grade(run: str, reward: int) -> Grade:
    return Grade(run=run, judge="rules", reason="x", completion=reward, coherence=3, reward=reward)


def test_draws_follow_the_rewards() -> None:
    grades = [_grade("a", 1), _grade("b", 4), _grade("c", 5)]
    counts = Counter(draw_runs(grades, 20_000, "reward", seed=3))
    shares = [counts[run] / 20_000 for run in "abc"]
    assert shares == pytest.approx([0.1, 0.4, 0.5], abs=0.015)
    even = Counter(draw_runs(grades, 20_000, "all", seed=3))
    assert [even[run] / 20_000 for run in "abc"] == pytest.approx([1 / 3] * 3, abs=0.015)
    assert set(draw_runs(grades, 50, "complete", seed=3)) == {"c"}
    assert (
        draw_runs(grades, 9, seed=1)
        == draw_runs(grades[::-1], 9, seed=1)
        != draw_runs(grades, 9, seed=2)
    )
    with pytest.raises(UsageError):
        draw_runs(grades[:2], 1, "complete", seed=1)
