"""Broader goals of acts: written by a model, carried out, and graded whether complete or not."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from hisa.errors import UsageError
from hisa.plugins.synthesis.cli.collect import collect
from hisa.plugins.synthesis.data.collecting import Collection, read_grades
from hisa.plugins.synthesis.data.trajectories import read_trajectories
from hisa.plugins.synthesis.exploration import read_records
from hisa.plugins.synthesis.task_records import Instruction
from hisa.plugins.synthesis.writing import Wish, write_all
from hisa.tasks.taskfile import load_task
from hisa.testing import FakeServer
from hisa.testing.scripted import ScriptedModel
from tests.bench import Bench, click, done
from tests.plugins.synthesis.test_writing import LOOKS, answer_with, settings, unpacked

GOAL = "Make a shopping list of three things and keep the notes readable."


async def test_each_act_becomes_a_low_level_instruction_and_a_broader_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No goal names what was typed in the act, as an effect's instruction has to."""
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    folder = unpacked(LOOKS / "text_editor.json", tmp_path / "explored")
    wish = Wish(goal="broad", limit=3)
    with FakeServer(then=answer_with(high_level_instruction=GOAL)) as server:
        written = await write_all(settings(server), folder, wish, print)
        requests = len(server.requests)
        more = await write_all(settings(server), folder, Wish(goal="broad"), print)
    goals = read_records(folder / "instructions.jsonl", Instruction)
    assert requests == 3 == len(written.of_way("broad"))
    assert [one.way for one in goals] == ["broad"] * len(more.of_way("broad"))
    assert len({one.triples for one in goals}) == len(goals) > 3
    assert all(one.sub for one in goals)
    assert not (folder / "candidates.jsonl").exists(), "a goal is never proved"
    (file,) = folder.glob("goals/*/task.yaml")
    task = load_task(file)
    assert (task.instruction, task.check) == (GOAL, None)
    assert task.setup


@pytest.mark.parametrize("wish", [Wish(goal="broad"), Wish(references=1)])
async def test_goals_and_references_take_a_model(tmp_path: Path, wish: Wish) -> None:
    folder = unpacked(LOOKS / "text_editor.json", tmp_path / "explored")
    with pytest.raises(UsageError, match="by a model"):
        await write_all(None, folder, wish, print)


def test_a_run_that_was_cut_off_is_kept_with_its_grade_where_asked_for(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "collected"
    replies = (click("Name field", "pyautogui.write('Ada')"), click("Save button"), done())
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
        kept = "".join(json.dumps(line) + "\n" for line in lines) if lines else text
        (cut_off / name).write_text(kept)

    def collected(*more: str) -> int:
        done = CliRunner().invoke(
            collect, ["-o", str(out), "--from", str(runs), *more], obj=None, catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        return len(Collection(out).runs)

    assert collected() == 1
    assert collected("--unproved") == 2
    assert {grade.run for grade in read_grades(out)} == {"cut-off", bench.log.folder.name}
    trajectories, left_out = read_trajectories([out])
    assert len(trajectories) == 2, left_out
    assert sum(one.truncated for one in trajectories) == 1
