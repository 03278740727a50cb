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
from hisa.plugins.benchmarks.attempts.run_judge import judge_attempts, with_judge
from hisa.runs.run_reader import Run, list_runs, read_events
from hisa.testing.scripted import ScriptedModel
from tests.plugins.benchmarks.attempt_logs import (
    CHECK,
    DETAIL,
    SAVED,
    TYPED,
    attempt,
    judgement,
)


def attempts(root: Path, *ends: str) -> list[Run]:
    """Attempts that ended so, each with steps of its own."""
    return [
        attempt(root, ((f"pyautogui.press('{n}')", "Succeeded."), TYPED, SAVED), ending)  # type: ignore[arg-type]
        for n, ending in enumerate(ends, 1)
    ]


async def test_the_record_says_all_but_a_score(tmp_path: Path) -> None:
    runs = attempts(tmp_path, "succeeded", "max_steps")
    judge = ScriptedModel([judgement(1)], name="a judge")
    group = await judge_attempts(runs, load(environ={}), own={"judge": judge})
    folder = tmp_path / group.id
    text = (folder / "attempts.json").read_text("utf-8")
    stored_record = json.loads(text)
    assert stored_record["runs"] == [run.id for run in runs]
    assert stored_record["choice"]["run"] == group.choice.run
    assert (stored_record["judge"], stored_record["judging"]["calls"]) == ("a judge", 1)
    for word in (DETAIL, "0.123456", "0.654321", "score"):
        assert word not in text
    events = (folder / "events.jsonl").read_text("utf-8")
    for word in (DETAIL, "0.123456", "0.654321", CHECK["all"][0]["equals"]):
        assert word not in events
    assert (folder / "attempts.json").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list_runs(tmp_path)) == 2


async def test_a_long_request_is_logged_in_full(tmp_path: Path) -> None:
    runs = []
    for number in (1, 2):
        step = (f"pyautogui.press('{number}')", "Succeeded. " + "A window came up. " * 20)
        runs.append(attempt(tmp_path, [step] * 120))
    judge = ScriptedModel([judgement(2)])
    group = await judge_attempts(runs, load(environ={}), own={"judge": judge})
    (request_event,) = (e for e in read_events(tmp_path / group.id) if isinstance(e, ModelAsked))
    digest, text = max(request_event.texts.items(), key=lambda item: len(item[1]))
    assert len(text) > 20_000
    assert hashlib.sha256(text.encode()).hexdigest() == digest
    picture_names = {look.stem for run in runs if (look := attempt_facts(run).picture)}
    sent_images = re.findall(r'"\$image": "([0-9a-f]{64})"', json.dumps(request_event.body))
    assert set(sent_images) == picture_names, "its pictures are those of the runs"


async def test_judge_defaults_to_the_planner_model_and_is_named(tmp_path: Path) -> None:
    group = await judge_attempts(attempts(tmp_path, "succeeded", "infeasible"), load(environ={}))
    assert group.choice.by == "judge"
    assert group.judge == "offline (rules, no LLM)"
    (called,) = (e for e in read_events(tmp_path / group.id) if isinstance(e, ModelCalled))
    assert (called.role, called.images) == ("judge", 0)
    own = load(environ={}, overrides={"models": {"judge": {"model": "j"}}})
    assert with_judge(own.models).judge == own.models.judge
    assert with_judge(load(environ={}).models).judge == load(environ={}).models.planner


@pytest.mark.parametrize("last", ["max_steps", "model_error"])
async def test_broken_machines_and_models_are_no_candidates(tmp_path: Path, last: Ending) -> None:
    runs = attempts(tmp_path, "environment_error", "model_error", last)
    group = await judge_attempts(runs, load(environ={}), own={"judge": ScriptedModel([])})
    assert group.choice.by == ("alone" if last == "max_steps" else "nobody")
    assert group.choice.run == (runs[2].id if last == "max_steps" else None)


async def test_a_secret_is_not_stored(tmp_path: Path) -> None:
    judge = ScriptedModel([judgement(1, "It typed the password: hunter2-and-more.")])
    runs = attempts(tmp_path, "succeeded", "max_steps")
    group = await judge_attempts(runs, load(environ={}), own={"judge": judge})
    for file in (tmp_path / group.id).iterdir():
        assert "hunter2" not in file.read_text("utf-8")
