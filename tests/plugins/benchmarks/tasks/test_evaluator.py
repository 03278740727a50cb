"""and, or, options, postconfig, infeasible: how a task's score comes about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hisa.errors import ActionRefused, EnvironmentFailed, UsageError
from hisa.plugins.benchmarks.tasks import evaluator
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.metrics import Unreadable
from hisa.protocols import CommandResult, ExitStatus, Task
from hisa.screen.observation import Observation
from hisa.tasks.scorer import TaskScorer
from tests.plugins.benchmarks.tasks.machine import Machine, at_once, offline

ANSWERS = {"say": CommandResult(0, "abcd")}


def part(text: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """An exact match of what the machine says, "abcd"."""
    result = {"type": "vm_command_line", "command": "say", "shell": True}
    return "exact_match", result, {"type": "rule", "rules": {"expected": text}}


def several(conj: str, *texts: str, **more: Any) -> dict[str, Any]:
    funcs, results, expected = zip(*(part(text) for text in texts), strict=True)
    lists = {"func": list(funcs), "result": list(results), "expected": list(expected)}
    return {**lists, "conj": conj, **more}


async def score(
    folder: Path,
    check: dict[str, Any],
    status: ExitStatus = "succeeded",
    machine: Machine | None = None,
) -> tuple[float | None, str]:
    task = Task(id="t", instruction="x", check=check, folder=str(folder))
    scorer = TaskScorer(cache=FileCache(folder / "cache", offline), pause=at_once)
    scoring = await scorer.score(task, machine or Machine(ANSWERS), status)
    return scoring.value, scoring.detail


@pytest.mark.process
async def test_a_missing_result_is_0(tmp_path: Path) -> None:
    gone = {"type": "vm_file", "path": "/home/user/a.txt", "dest": "a.txt"}
    check = {"func": "compare_config", "result": gone, "expected": part("x")[2]}
    assert await score(tmp_path, check) == (
        0.0,
        "compare_config: nothing there: vm_file /home/user/a.txt",
    )
    first = several("or", "abcd", "abcd")
    first["func"][0], first["result"][0] = "compare_config", gone
    assert (await score(tmp_path, first))[0] == 1.0
    assert (await score(tmp_path, {**first, "conj": "and"}))[0] == 0.0


@pytest.mark.process
async def test_postconfig_comes_first(tmp_path: Path) -> None:
    before = {"type": "execute", "parameters": {"command": "save", "shell": True}}
    machine = Machine(ANSWERS)
    check = several(
        "and", "abcd", postconfig=[before, {"type": "sleep", "parameters": {"seconds": 9}}]
    )
    assert (await score(tmp_path, check, machine=machine))[0] == 1.0
    assert machine.lines == ["save", "say"]
    broken = {"type": "execute", "parameters": {"command": "nothere"}}
    with pytest.raises(EnvironmentFailed, match="nothere"):
        await score(tmp_path, several("and", "abcd", postconfig=[broken]))


class WatchedMachine(Machine):
    """A machine that writes its looks down among its commands."""

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        self.lines.append(f"settle {settle:g}")
        return await super().observe(elements=elements, settle=settle)


@pytest.mark.process
@pytest.mark.parametrize("steps", [0, 1])
async def test_evaluator_waits_for_pending_saves_before_it_reads(
    tmp_path: Path, steps: int
) -> None:
    machine = WatchedMachine(ANSWERS)
    save = {"type": "execute", "parameters": {"command": "save", "shell": True}}
    check = several("and", "abcd", postconfig=[save] * steps)
    assert (await score(tmp_path, check, machine=machine))[0] == 1.0
    assert machine.lines == ["save", "settle 20"] * steps + ["say"]


@pytest.mark.process
async def test_empty_rules_give_no_score(tmp_path: Path) -> None:
    check = several("and", "abcd")
    check["expected"][0]["rules"] = {}
    value, why = await score(tmp_path, check)
    assert value is None
    assert why.startswith("the rules lack")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"func": ["dance"]}, "no metric 'dance' here, nor in OSWorld's package"),
        ({"result": [{"type": "dance"}]}, "task 't': no getter 'dance' here"),
        ({"result": [{"type": "vm_file"}]}, "task 't': vm_file: path: is missing"),
        ({"postconfig": [{"type": "dance"}]}, "task 't': no setup step 'dance' here"),
        ({"postconfig": [{"type": "sleep"}]}, "task 't': sleep: seconds: is missing"),
        ({"conj": "xor"}, "task 't': evaluator: conj = 'xor': must be 'and' or 'or'"),
    ],
)
async def test_unknown_part_fails_the_check_and_never_scores_zero(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    task = Task(id="t", instruction="x", check={**several("and", "abcd"), **change})
    scoring = await TaskScorer().score(task, Machine(ANSWERS), "succeeded")
    assert (scoring.state, scoring.value) == ("score_failed", None)
    assert scoring.detail == message


async def test_act_refused_during_scoring_gives_no_score(tmp_path: Path) -> None:
    class Refusing(Machine):
        async def act(self, actions: Any, /) -> None:
            raise ActionRefused("no such key")

    keys = {"vscode_extension_command": "x", "path": "/a", "dest": "a"}
    check = {**several("and", "a"), "result": [{"type": "vscode_config", **keys}]}
    assert await score(tmp_path, check, machine=Refusing()) == (None, "no such key")


async def test_a_task_that_lacks_something_is_refused_before_anything_is_done(
    tmp_path: Path,
) -> None:
    step = {"type": "execute", "parameters": {"command": "touch", "shell": True}}
    check = {**several("and", "abcd"), "func": ["dance"]}
    task = Task(id="t", instruction="x", setup=(step,), check=check, folder=str(tmp_path))
    machine = Machine(ANSWERS)
    with pytest.raises(UsageError, match="cannot be run here: no metric 'dance' here"):
        await TaskScorer().prepare(task, machine)
    assert machine.lines == []


async def test_failed_download_gives_no_score(tmp_path: Path) -> None:
    expected = {"type": "cloud_file", "path": "https://x.org/a", "dest": "a"}
    check = {**several("and", "abcd"), "expected": [expected]}
    with pytest.raises(EnvironmentFailed, match="download nothing"):
        await score(tmp_path, check)


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Scores that metrics give, in order, whatever they are asked; filled by the test."""
    scores: list[Any] = []

    async def say(name: str, result: Any, expected: Any, options: Any) -> tuple[float, str]:
        calls.append((name, result, expected, dict(options)))
        value = scores.pop(0)
        if isinstance(value, Exception):
            raise value
        return float(value), f"why {value}"

    calls: list[Any] = []
    monkeypatch.setattr(evaluator, "judge", say)
    monkeypatch.setattr(evaluator, "choose_judge", lambda name: None)
    scores.append(calls)
    return scores


@pytest.mark.parametrize(
    ("conj", "scores", "expected", "left"),
    [
        ("and", [0.2, 0.4, 0.9], 0.5, 0),
        ("and", [0.2, 0, 0.9], 0.0, 1),
        ("or", [0.2, 0.9, 0.4], 0.9, 0),
        ("or", [0.2, 1, 0.4], 1.0, 1),
        ("and", [1, 1, 1], 1.0, 0),
        ("or", [0, 0, 0], 0.0, 0),
        ("and", [7, 0.5, 0.6], 0.7, 0),
        ("or", [-3, 0.5, 0.25], 0.5, 0),
        ("and", [-3, 1, 1], 0.0, 2),
        ("and", [Unreadable("torn"), 1, 1], 0.0, 2),
        ("or", [Unreadable("torn"), 0.5, 0], 0.5, 0),
    ],
)
async def test_scores_are_combined(
    tmp_path: Path, verdicts: list[Any], conj: str, scores: list[Any], expected: float, left: int
) -> None:
    verdicts[:] = scores
    value, why = await score(tmp_path, several(conj, "a", "b", "c"))
    assert value == pytest.approx(expected)
    assert len(verdicts) == left
    words = [str(entry) if isinstance(entry, Unreadable) else f"why {entry}" for entry in scores]
    reasons = words[2 - left : 3 - left] if left else words
    assert why == "; ".join(f"exact_match: {reason}" for reason in reasons)


@pytest.mark.parametrize("func", ["infeasible", ["infeasible"]])
async def test_an_infeasible_task_asks_the_machine_nothing(tmp_path: Path, func: Any) -> None:
    step = {"type": "execute", "parameters": {"command": "save", "shell": True}}
    machine = Machine(ANSWERS)
    check = {"func": func, "postconfig": [step]}
    assert await score(tmp_path, check, "infeasible", machine) == (1.0, "infeasible, and said so")
    assert await score(tmp_path, check, "budget", machine) == (0.0, "infeasible, ended budget")
    given_up = several("and", "abcd", postconfig=[step])
    assert await score(tmp_path, given_up, "infeasible", machine) == (0.0, "given up as infeasible")
    assert machine.lines == []
