"""Task files of the shape that OSWorld-Verified gives them: loaded, listed, refused, scored."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.tasks.find_format import problems, sorted_problems
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from tests.plugins.benchmarks.tasks.machine import at_once, offline
from tests.tasks.host import Host

STEMS = ("a.txt", "b.txt")
EXAMPLES = "evaluation_examples/examples/os"


def upload(*sources: str) -> dict[str, Any]:
    files = [{"local_path": source, "path": f"~/{source.rpartition('/')[2]}"} for source in sources]
    return {"type": "upload_file", "parameters": {"files": files}}


def build_verified_step(**more: Any) -> dict[str, Any]:
    parameters = {"command": "sh -c 'date >~/ready; echo Files >~/windows'", "shell": True, **more}
    return {"type": "execute_with_verification", "parameters": parameters}


def tree(conj: str = "and", **changes: Any) -> dict[str, Any]:
    """A task with two results, expected files in its own folder, and the newer keys."""
    return {
        "id": "v-1",
        "snapshot": "os",
        "instruction": "Write both lists.",
        "config": [
            upload(f"{EXAMPLES}/start/a.txt", f"{EXAMPLES}/start/b.txt"),
            build_verified_step(
                verification={"window_exists": "files", "command_success": "test -s ~/ready"}
            ),
        ],
        "related_apps": ["os"],
        "evaluator": {
            "func": ["compare_csv", "compare_csv"],
            "conj": conj,
            "result": [
                {"type": "vm_file", "path": f"~/{stem}", "dest": f"out-{stem}"} for stem in STEMS
            ],
            "expected": [
                {"type": "local_file", "path": f"{EXAMPLES}/gold/{stem}", "dest": f"gold-{stem}"}
                for stem in STEMS
            ],
        },
        "proxy": False,
        "fixed_ip": False,
        "possibility_of_env_change": "low",
        **changes,
    }


def write(folder: Path, value: dict[str, Any]) -> Path:
    place = folder / EXAMPLES
    for part, text in (("start", "empty"), ("gold", "milk")):
        (place / part).mkdir(parents=True, exist_ok=True)
        for stem in STEMS:
            (place / part / stem).write_text(f"{text} {stem}\n")
    path = place / "v-1.json"
    path.write_text(json.dumps(value))
    return path


def scorer(folder: Path) -> TaskScorer:
    return TaskScorer(cache=FileCache(folder / "cache", offline), pause=at_once)


@pytest.mark.process
@pytest.mark.parametrize(
    ("conj", "written", "score"),
    [("and", "", 0.0), ("and", "a", 0.0), ("and", "ab", 1.0), ("or", "", 0.0), ("or", "b", 1.0)],
)
async def test_several_results_are_set_up_and_scored(
    tmp_path: Path, conj: str, written: str, score: float
) -> None:
    task = load_task(write(tmp_path, tree(conj)))
    assert problems(task) == []
    host = Host(tmp_path / "home")
    await scorer(tmp_path).prepare(task, host)
    assert (host.home / "a.txt").read_text() == "empty a.txt\n"
    for stem in written:
        (host.home / f"{stem}.txt").write_text(f"milk {stem}.txt\n")
    scoring = await scorer(tmp_path).score(task, host, "succeeded")
    assert (scoring.state, scoring.value) == ("scored", score), scoring.detail


@pytest.mark.process
async def test_command_without_its_verified_effect_fails_the_setup(tmp_path: Path) -> None:
    quick = {"max_wait_time": 0, "check_interval": 0.1}
    for verification, message in (
        ({"window_exists": "Calculator"}, "no window titled 'Calculator'; there are: ..Files"),
        ({"command_success": "ls ~/none"}, "'ls ~/none' ended with 2: .*No such file"),
    ):
        step = build_verified_step(verification=verification, **quick)
        task = load_task(write(tmp_path, tree(config=[step])))
        with pytest.raises(EnvironmentFailed, match=f"setup step 1 of task 'v-1'.*{message}"):
            await scorer(tmp_path).prepare(task, Host(tmp_path / "home"))
    later = build_verified_step(
        command="(sleep 0.3; touch ~/late) >/dev/null 2>&1 &",
        verification={"command_success": "test -e ~/late"},
    )
    task = load_task(write(tmp_path, tree(config=[later])))
    await scorer(tmp_path).prepare(task, Host(tmp_path / "home"))
    assert (tmp_path / "home" / "late").exists()


async def test_a_task_that_wants_a_proxy_is_refused_with_its_reason(tmp_path: Path) -> None:
    path = write(tmp_path, tree(proxy=True))
    task = load_task(path)
    (problem,) = sorted_problems(task)
    assert problem.kind == "address"
    assert "tasks.proxy" in problem.text
    assert problem.fix == "--set tasks.proxy=none"
    host = Host(tmp_path / "home")
    with pytest.raises(UsageError, match="wants a proxy"):
        await scorer(tmp_path).prepare(task, host)
    assert host.lines == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": [upload("start/none.txt")]}, "upload_file: .*no such file"),
        ({"config": [upload("../../etc/passwd")]}, "upload_file: .*outside"),
        ({"config": [{"type": "upload_file", "parameters": {"files": 3}}]}, "upload_file: files"),
        ({"config": [build_verified_step(max_wait_time=-1)]}, "max_wait_time"),
        ({"config": [build_verified_step(verification={"window_exists": 3})]}, "window_exists"),
    ],
)
def test_wrong_setup_step_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    (problem,) = problems(load_task(write(tmp_path, tree(**changes))))
    assert re.search(message, problem)


@pytest.mark.parametrize(("value", "read"), [(None, True), ("no", True), ({"a": 1}, False)])
def test_the_word_about_a_proxy_is_read_or_refused(tmp_path: Path, value: Any, read: bool) -> None:
    path = write(tmp_path, tree(proxy=value))
    if read:
        assert problems(load_task(path)) == []
    else:
        with pytest.raises(UsageError, match="proxy"):
            load_task(path)
