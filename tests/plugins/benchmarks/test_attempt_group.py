"""The record of several attempts: without score or secret."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from hisa.config import load
from hisa.events import ModelAsked, ModelCalled
from hisa.outcomes.endings import Ending
from hisa.plugins.benchmarks.attempts.attempt_facts import attempt_facts
from hisa.plugins.benchmarks.attempts.attempt_group import AttemptGroup
from hisa.plugins.benchmarks.attempts.run_judge import judge_attempts, with_judge
from hisa.protocols import Task
from hisa.runs.read import list_runs, read_events
from hisa.testing.scripted import ScriptedModel
from tests.plugins.benchmarks.attempt_logs import (
    CHECK,
    DETAIL,
    SAVED,
    TASK,
    TYPED,
    attempt,
    judgement,
)


def group_of(root: Path, *ends: str) -> AttemptGroup:
    """A record whose attempts ended so, each with steps of its own."""
    group = AttemptGroup.create(root, TASK, len(ends))
    for number, ending in enumerate(ends, 1):
        steps = ((f"pyautogui.press('{number}')", "Succeeded."), TYPED, SAVED)
        run = attempt(root, steps, ending)  # type: ignore[arg-type]
        group.begin(number, run.id)
        group.end(number)
    return group


async def test_the_record_says_all_but_a_score(tmp_path: Path) -> None:
    group = group_of(tmp_path, "succeeded", "max_steps")
    judge = ScriptedModel([judgement(1)], name="a judge")
    choice = await judge_attempts(group, load(environ={}), own={"judge": judge})
    text = (group.folder / "attempts.json").read_text("utf-8")
    kept = json.loads(text)
    assert kept["choice"]["run"] == choice.run
    assert (kept["judge"], kept["judging"]["calls"]) == ("a judge", 1)
    assert kept["finished_at"]
    for word in (DETAIL, "0.123456", "0.654321", "score"):
        assert word not in text
    events = (group.folder / "events.jsonl").read_text("utf-8")
    for word in (DETAIL, "0.123456", "0.654321", CHECK["all"][0]["equals"]):
        assert word not in events
    assert (group.folder / "attempts.json").stat().st_mode & 0o777 == 0o600
    assert group.folder.stat().st_mode & 0o777 == 0o700
    assert len(list_runs(tmp_path)) == 2


async def test_a_long_request_stands_whole_in_the_log(tmp_path: Path) -> None:
    group = AttemptGroup.create(tmp_path, TASK, 2)
    for number in (1, 2):
        step = (f"pyautogui.press('{number}')", "Succeeded. " + "A window came up. " * 20)
        run = attempt(tmp_path, [step] * 120)
        group.begin(number, run.id)
        group.end(number)
    judge = ScriptedModel([judgement(2)])
    await judge_attempts(group, load(environ={}), own={"judge": judge})
    (asked,) = (e for e in read_events(group.folder) if isinstance(e, ModelAsked))
    digest, text = max(asked.texts.items(), key=lambda item: len(item[1]))
    assert len(text) > 20_000
    assert hashlib.sha256(text.encode()).hexdigest() == digest
    looks = (attempt_facts(run).picture for run in group.ended_runs())
    shown = {look.stem for look in looks if look}
    sent = re.findall(r'"\$image": "([0-9a-f]{64})"', json.dumps(asked.body))
    assert set(sent) == shown, "its pictures are those of the runs"


async def test_the_judge_follows_the_planner_and_is_named_as_what_it_is(tmp_path: Path) -> None:
    group = group_of(tmp_path, "succeeded", "infeasible")
    choice = await judge_attempts(group, load(environ={}))
    assert choice.by == "judge"
    assert group.record.judge == "offline (rules, no LLM)"
    (called,) = (e for e in read_events(group.folder) if isinstance(e, ModelCalled))
    assert (called.role, called.images) == ("judge", 0)
    own = load(environ={}, overrides={"models": {"judge": {"model": "j"}}})
    assert with_judge(own.models).judge == own.models.judge
    assert with_judge(load(environ={}).models).judge == load(environ={}).models.planner


def test_what_came_to_no_end_is_no_candidate(tmp_path: Path) -> None:
    group = group_of(tmp_path, "succeeded", "stopped", "environment_error", "defect")
    assert [run.status for run in group.ended_runs()] == ["succeeded", "environment_error"]
    group.begin(5, "gone")
    assert group.end(5) == "unfinished", "its folder is not there"


@pytest.mark.parametrize("last", ["max_steps", "model_error"])
async def test_broken_machines_and_models_are_no_candidates(tmp_path: Path, last: Ending) -> None:
    group = group_of(tmp_path, "environment_error", "model_error", last)
    choice = await judge_attempts(group, load(environ={}), own={"judge": ScriptedModel([])})
    assert choice.by == ("alone" if last == "max_steps" else "nobody")
    assert choice.run == (group.record.runs[2].run if last == "max_steps" else None)


def test_a_secret_is_not_kept(tmp_path: Path) -> None:
    task = Task("t", "Log in with the password: hunter2-and-more.")
    group = AttemptGroup.create(tmp_path, task, 2)
    assert "hunter2" not in (group.folder / "attempts.json").read_text("utf-8")
